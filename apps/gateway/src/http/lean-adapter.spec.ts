import { describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LeanAdapter } from './server.js';

describe("the adapter without Nest's hooks", () => {
  const appWith = async (): Promise<{ app: INestApplication; adapter: LeanAdapter }> => {
    @Controller()
    class Greeting {
      @Get('hello')
      hello(): string {
        return 'world';
      }
    }
    @Module({ controllers: [Greeting] })
    class AppModule {}
    const adapter = new LeanAdapter({ skipMiddie: true, multipart: false });
    adapter.permitHooks();
    const app = await NestFactory.create(AppModule, adapter, { logger: false, abortOnError: false });
    return { app, adapter };
  };

  it('serves controllers, with the hooks that are added to the instance', async () => {
    const { app, adapter } = await appWith();
    adapter.getInstance().addHook('onRequest', (_request, reply, done) => {
      reply.header('x-own', 'hook');
      done();
    });
    await app.init();
    const { body, headers } = await adapter.getInstance().inject('/hello');
    expect([body, headers['x-own']]).toEqual(['world', 'hook']);
    await app.close();
  });

  it('refuses the features whose hooks it lacks', async () => {
    const { app, adapter } = await appWith();
    for (const use of [() => app.enableCors(), () => adapter.setOnRequestHook(), () => adapter.setOnResponseHook(), () => adapter.registerSecurityHook()]) {
      expect(use).toThrow('left out');
    }
    await app.close();
  });
});
