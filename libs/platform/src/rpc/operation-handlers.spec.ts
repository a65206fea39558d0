import { describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExceptionFilter,
  Module,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
  Scope,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import { Payload } from '@nestjs/microservices';
import { IsString } from 'class-validator';
import { Answers } from './answers.decorator.js';
import { RpcContext } from './context.js';
import { Deadline } from './deadline.js';
import { NoRpcTransport } from './no-rpc-transport.js';
import { operationsOf } from './operation.js';
import { type OperationHandler, operationHandlersOf } from './operation-handlers.js';

class Job {
  @IsString({ message: 'must be text' })
  name: string;
}
const run = operationsOf('stub').write<string>()('run', Job);

const guard: CanActivate = { canActivate: () => false };
const pipe: PipeTransform = { transform: () => ({ name: 'replaced' }) };
const interceptor: NestInterceptor = { intercept: (_, next) => next.handle() };
const filter: ExceptionFilter = { catch: () => undefined };
type Decorator = ClassDecorator & MethodDecorator;

describe("the operations' handlers of an app", () => {
  const handlersOf = async (controller: Type, ...providers: Provider[]): Promise<OperationHandler[]> => {
    @Module({ controllers: [controller], providers })
    class AppModule {}
    const app = await NestFactory.createMicroservice(AppModule, { strategy: new NoRpcTransport(), logger: false, abortOnError: false });
    try {
      return operationHandlersOf(app);
    } finally {
      await app.close();
    }
  };

  @Controller()
  class Jobs {
    private readonly done = 'done';

    @Answers(run)
    run({ name }: Job, context: RpcContext): Promise<string> {
      return Promise.resolve(`${name} ${this.done} for ${context.requestId}`);
    }

    notAnOperation(): void {
      throw new Error('must not be called');
    }
  }

  it('are the methods of its controllers', async () => {
    const handlers = await handlersOf(Jobs);
    expect(handlers.map(({ operation }) => operation)).toEqual([run]);
    await expect(handlers[0]!.handle({ name: 'a' }, new RpcContext('r1', Deadline.in(1_000)))).resolves.toBe('a done for r1');
  });

  it.each<[string, Decorator]>([
    ['guards', UseGuards(guard)],
    ['pipes', UsePipes(pipe)],
    ['interceptors', UseInterceptors(interceptor)],
    ['exception filters', UseFilters(filter)],
  ])('may not have %s, since they would not run', async (kind, decorator) => {
    @Controller()
    class OnMethod {
      @Answers(run)
      @decorator
      run(): Promise<string> {
        return Promise.resolve('');
      }
    }
    await expect(handlersOf(OnMethod)).rejects.toThrow(`OnMethod.run has ${kind}`);

    @Controller()
    @decorator
    class OnClass extends Jobs {}
    await expect(handlersOf(OnClass)).rejects.toThrow(`OnClass.run has ${kind}`);
  });

  it('may not have parameter decorators, which may convert the payload', async () => {
    @Controller()
    class WithPipe {
      @Answers(run)
      run(@Payload(pipe) { name }: Job): Promise<string> {
        return Promise.resolve(name);
      }
    }
    await expect(handlersOf(WithPipe)).rejects.toThrow('WithPipe.run has parameter decorators');
  });

  it('may not belong to a controller that Nest creates for each call', async () => {
    @Controller({ scope: Scope.REQUEST })
    class PerCall extends Jobs {}
    await expect(handlersOf(PerCall)).rejects.toThrow('PerCall.run must be of a controller with one instance');
  });

  it.each<[string, Provider]>([
    ['guards', { provide: APP_GUARD, useValue: guard }],
    ['pipes', { provide: APP_PIPE, useValue: pipe }],
    ['interceptors', { provide: APP_INTERCEPTOR, useValue: interceptor }],
    ['exception filters', { provide: APP_FILTER, useValue: filter }],
  ])('may not have global %s either', async (kind, provider) => {
    await expect(handlersOf(Jobs, provider)).rejects.toThrow(`The app has global ${kind}`);
  });
});
