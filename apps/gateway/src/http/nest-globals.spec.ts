import { describe, expect, it } from '@jest/globals';
import { type CanActivate, type INestApplication, Module, type Provider } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { map } from 'rxjs';
import { assertNoNestGlobals } from './nest-globals.js';

describe("Nest's globals, which declared operations would not have", () => {
  const appWith = async (...providers: Provider[]): Promise<INestApplication> => {
    @Module({ providers })
    class AppModule {}
    const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false, abortOnError: false });
    return app.init();
  };
  const guard: CanActivate = { canActivate: () => true };
  const interceptor = { intercept: (_: unknown, next: { handle: () => never }) => map((one) => one)(next.handle()) };

  it('are absent by default', async () => {
    const app = await appWith();
    assertNoNestGlobals(app);
    await app.close();
  });

  it.each([
    ['guards', { provide: APP_GUARD, useValue: guard }],
    ['pipes', { provide: APP_PIPE, useValue: { transform: (one: unknown) => one } }],
    ['interceptors', { provide: APP_INTERCEPTOR, useValue: interceptor }],
  ])('are refused when a module provides them: %s', async (kind, provider) => {
    const app = await appWith(provider);
    expect(() => assertNoNestGlobals(app)).toThrow(`global ${kind}`);
    await app.close();
  });

  it('are refused when the app is given one', async () => {
    const app = (await appWith()).useGlobalGuards(guard);
    expect(() => assertNoNestGlobals(app)).toThrow('global guards');
    await app.close();
  });
});
