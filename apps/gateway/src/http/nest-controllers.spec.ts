import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Catch,
  Controller,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Module,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  type PipeTransform,
  type Provider,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createLogger } from '@plant-shop/platform/logging';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { map, of } from 'rxjs';
import { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import { ProblemFilter } from './problem.js';
import { createAdapter } from './server.js';

const requestOf = (host: ExecutionContext): { readonly url: string } => host.switchToHttp().getRequest();

const guard: CanActivate = { canActivate: (host) => !requestOf(host).url.endsWith('/13') };
const pipe: PipeTransform = { transform: (value: unknown) => (value === '7' ? '8' : value) };
const interceptor: NestInterceptor = { intercept: (_, next) => next.handle().pipe(map((answer) => ({ intercepted: answer as object }))) };
@Catch(RangeError)
class Filter implements ExceptionFilter {
  catch(error: RangeError, host: ExecutionContext) {
    host.switchToHttp().getResponse<{ code: (status: number) => { send: (body: string) => void } }>().code(418).send(error.message);
    return of();
  }
}
const Url = createParamDecorator((_: unknown, host: ExecutionContext) => requestOf(host).url);

@Controller('things')
class Things {
  @Get(':id')
  getThing(@Param('id', ParseIntPipe) id: number, @Url() url: string): object {
    if (id === 99) throw new RangeError('out of range');
    return { id, url };
  }
}

describe("the gateway's Nest controllers", () => {
  let app: NestFastifyApplication;
  afterEach(() => app.close());

  const start = async (controller: new () => object, ...providers: Provider[]) => {
    const parts = {
      publicUrl: 'http://127.0.0.1',
      sandbox: false,
      corsOrigins: [], trustedProxies: [],
      requestTimeoutMs: 1_000,
      limiter: new ConcurrencyLimiter({ requests: 10, bodyBytes: 1_000, clientShare: 1 }),
      logger: createLogger('test', 'silent'),
      drain: new ConnectionDrain(),
    };
    @Module({ controllers: [controller], providers })
    class AppModule {}
    @Module({ imports: [AppModule], providers: [{ provide: APP_FILTER, useValue: new ProblemFilter(parts) }] })
    class RootModule {}
    app = await NestFactory.create<NestFastifyApplication>(RootModule, createAdapter(parts), { bodyParser: false, logger: false, abortOnError: false });
    await app.init();
    return async (id: number) => {
      const { statusCode, body } = await app.inject({ method: 'GET', url: `/things/${id}` });
      return { statusCode, body };
    };
  };
  const found = (id: number, url = `/things/${id}`) => ({ statusCode: 200, body: JSON.stringify({ id, url }) });

  const isGuarded = async (get: Awaited<ReturnType<typeof start>>): Promise<void> => {
    expect(await get(7)).toEqual(found(7));
    expect(await get(13)).toMatchObject({ statusCode: 403 });
  };
  const isPiped = async (get: Awaited<ReturnType<typeof start>>): Promise<void> => expect(await get(7)).toEqual(found(8, '/things/7'));
  const isIntercepted = async (get: Awaited<ReturnType<typeof start>>): Promise<void> =>
    expect(await get(7)).toEqual({ statusCode: 200, body: JSON.stringify({ intercepted: { id: 7, url: '/things/7' } }) });
  const isFiltered = async (get: Awaited<ReturnType<typeof start>>): Promise<void> => {
    expect(await get(99)).toEqual({ statusCode: 418, body: 'out of range' });
    expect(await get(7)).toEqual(found(7));
  };

  it.each<[string, ClassDecorator, Provider, typeof isGuarded]>([
    ['guards', UseGuards(guard), { provide: APP_GUARD, useValue: guard }, isGuarded],
    ['pipes', UsePipes(pipe), { provide: APP_PIPE, useValue: pipe }, isPiped],
    ['interceptors', UseInterceptors(interceptor), { provide: APP_INTERCEPTOR, useValue: interceptor }, isIntercepted],
    ['exception filters', UseFilters(Filter), { provide: APP_FILTER, useClass: Filter }, isFiltered],
  ])('have %s, of the controller and global', async (_, decorator, provider, holds) => {
    @Controller('things')
    @decorator
    class Decorated extends Things {}
    await holds(await start(Decorated));
    await app.close();
    await holds(await start(Things, provider));
  });
});
