import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  type INestMicroservice,
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
import { map, of } from 'rxjs';
import { Answers } from './answers.decorator.js';
import { CodedError } from '../errors.js';
import { Deadline, RpcContext } from './context.js';
import { NoRpcTransport } from '../service/service.js';
import { type Operation, operationsOf } from './operation.js';
import { directHandlersOf, nestHandler, type OperationHandler, passErrors } from './operation-handlers.js';

class Job {
  @IsString({ message: 'must be text' })
  name: string;
}
const run = operationsOf('stub').write<string>()('run', Job);

const context = new RpcContext('r1', Deadline.in(60_000));
const contextOf = (host: ArgumentsHost): RpcContext => host.switchToRpc().getContext();

const guard: CanActivate = { canActivate: (host: ExecutionContext) => contextOf(host) === context && host.switchToRpc().getData<Job>().name !== 'forbidden' };
const pipe: PipeTransform = { transform: (value: unknown) => (value instanceof RpcContext ? value : { name: `piped ${(value as Job).name}` }) };
const interceptor: NestInterceptor = { intercept: (_, next) => next.handle().pipe(map((answer) => `intercepted ${String(answer)}`)) };
@Catch(RangeError)
class Filter implements ExceptionFilter {
  catch(error: RangeError) {
    return of(`filtered ${error.message}`);
  }
}
type Decorator = ClassDecorator & MethodDecorator;

/** Collects what Nest registers, as `RpcServer` does. */
class Transport extends NoRpcTransport {
  readonly handlers: OperationHandler[] = [];
  override addHandler(_pattern: unknown, call: (...args: unknown[]) => unknown, _isEvent?: boolean, extras?: Record<string, unknown>): void {
    this.handlers.push(nestHandler(extras?.['operation'] as Operation<unknown, unknown>, call));
  }
}

@Controller()
class Jobs {
  private readonly done = 'done';

  @Answers(run)
  run({ name }: Job, { requestId }: RpcContext): Promise<string> {
    if (name.endsWith('missing')) throw new CodedError('job-not-found', 'There is no such job.');
    if (name.endsWith('wrong')) throw new RangeError('out of range');
    return Promise.resolve(`${name} ${this.done} for ${requestId}`);
  }

  notAnOperation(): void {
    throw new Error('must not be called');
  }
}

describe("the operations' handlers of an app", () => {
  let app: INestMicroservice;
  afterEach(() => app.close());

  /** Returns the handlers that are called directly, and a function that runs the operation through Nest. */
  const start = async (controller: Type, ...providers: Provider[]) => {
    @Module({ controllers: [controller], providers })
    class AppModule {}
    @Module({ imports: [AppModule], providers: [passErrors] })
    class RootModule {}
    const strategy = new Transport();
    app = await NestFactory.createMicroservice(RootModule, { strategy, logger: false, abortOnError: false });
    const direct = directHandlersOf(app);
    await app.listen();
    const byNest = async (name: string): Promise<unknown> => strategy.handlers[0]?.handle({ name }, context);
    return { direct, byNest };
  };

  it('are methods that are called directly if Nest would do nothing else, with the same result', async () => {
    const { direct, byNest } = await start(Jobs);
    expect(direct.map(({ operation }) => operation)).toEqual([run]);
    expect(await direct[0]!.handle({ name: 'a' }, context)).toBe('a done for r1');
    expect(await byNest('a')).toBe('a done for r1');
    for (const call of [byNest, async (name: string) => direct[0]!.handle({ name }, context)]) {
      await expect(call('missing')).rejects.toMatchObject({ code: 'job-not-found' });
      await expect(call('wrong')).rejects.toThrow(RangeError);
    }
  });

  const isGuarded = async ({ byNest }: Awaited<ReturnType<typeof start>>): Promise<void> => {
    await expect(byNest('forbidden')).rejects.toThrow('Forbidden resource');
    expect(await byNest('a')).toBe('a done for r1');
  };
  const isPiped = async ({ byNest }: Awaited<ReturnType<typeof start>>): Promise<void> => expect(await byNest('a')).toBe('piped a done for r1');
  const isIntercepted = async ({ byNest }: Awaited<ReturnType<typeof start>>): Promise<void> => expect(await byNest('a')).toBe('intercepted a done for r1');
  const isFiltered = async ({ byNest }: Awaited<ReturnType<typeof start>>): Promise<void> => {
    expect(await byNest('wrong')).toBe('filtered out of range');
    await expect(byNest('missing')).rejects.toMatchObject({ code: 'job-not-found' });
  };

  it.each<[string, Decorator, typeof isGuarded]>([
    ['guards', UseGuards(guard), isGuarded],
    ['pipes', UsePipes(pipe), isPiped],
    ['interceptors', UseInterceptors(interceptor), isIntercepted],
    ['exception filters', UseFilters(Filter), isFiltered],
  ])('have the %s of their method and controller', async (_, decorator, holds) => {
    @Controller()
    @decorator
    class OnClass extends Jobs {}
    const ofClass = await start(OnClass);
    expect(ofClass.direct).toEqual([]);
    await holds(ofClass);
    await app.close();

    @Controller()
    class OnMethod extends Jobs {
      @Answers(run)
      @decorator
      override run(job: Job, given: RpcContext): Promise<string> {
        return super.run(job, given);
      }
    }
    const ofMethod = await start(OnMethod);
    expect(ofMethod.direct).toEqual([]);
    await holds(ofMethod);
  });

  it.each<[string, Provider, typeof isGuarded]>([
    ['guards', { provide: APP_GUARD, useValue: guard }, isGuarded],
    ['pipes', { provide: APP_PIPE, useValue: pipe }, isPiped],
    ['interceptors', { provide: APP_INTERCEPTOR, useValue: interceptor }, isIntercepted],
    ['exception filters', { provide: APP_FILTER, useClass: Filter }, isFiltered],
  ])('have the global %s of the app', async (_, provider, holds) => {
    const started = await start(Jobs, provider);
    expect(started.direct).toEqual([]);
    await holds(started);
  });

  it('have the decorators of their parameters', async () => {
    const RequestId = createParamDecorator((_: unknown, host: ExecutionContext) => contextOf(host).requestId);
    @Controller()
    class Decorated {
      @Answers(run)
      run(@Payload('name') name: unknown, @RequestId() requestId: unknown): Promise<string> {
        return Promise.resolve(`${String(name)} for ${String(requestId)}`);
      }
    }
    const { direct, byNest } = await start(Decorated);
    expect(direct).toEqual([]);
    expect(await byNest('a')).toBe('a for r1');
  });

  it('may belong to a controller that Nest creates for each call', async () => {
    let created = 0;
    @Controller({ scope: Scope.REQUEST })
    class PerCall extends Jobs {
      constructor() {
        super();
        created++;
      }
    }
    const { direct, byNest } = await start(PerCall);
    expect(direct).toEqual([]);
    const before = created;
    expect(await byNest('a')).toBe('a done for r1');
    expect(await byNest('b')).toBe('b done for r1');
    expect(created).toBe(before + 2);
  });
});
