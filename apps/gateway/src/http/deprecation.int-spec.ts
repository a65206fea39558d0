import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { deprecated } from '@plant-shop/contracts/client-operation';
import { store } from '@plant-shop/contracts/store';
import { createLogger } from '@plant-shop/platform/logging';
import { theService, unavailable } from '@plant-shop/platform/errors';
import { type FastifyInstance, fastify } from 'fastify';
import { publicUrl, type Shop, startShop } from '../gateway.spec.fixture.js';
import { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import { RateLimit } from '../limits/rate-limit.js';
import { makeDocument } from '../openapi/document.js';
import { sendProblem } from './problem.js';
import { RequestAuthenticator } from './request-authenticator.js';
import { Routes } from './route-checks.js';
import { routeSpecOf } from './route.js';

const old = deprecated('2026-12-01', '2027-06-01');

describe('a deprecated operation', () => {
  describe('over HTTP', () => {
    let server: FastifyInstance;
    beforeAll(async () => {
      const credentials = { findCached: () => undefined, check: () => Promise.reject(unavailable(theService('identity'))) };
      const limiter = new ConcurrencyLimiter({ requests: 10, bodyBytes: 1_000, clientShare: 1 });
      const routes = new Routes(new RequestAuthenticator(credentials, new RateLimit(100), limiter), limiter);
      server = fastify();
      server.setErrorHandler((error, request, reply) => {
        sendProblem(error, request, reply, { publicUrl, sandbox: false, logger: createLogger('gateway', 'fatal') });
      });
      routes.install(server);
      server.get('/old', { config: { spec: routeSpecOf({ ...catalog.getPlant.client, deprecated: old }) } }, () => 'as before');
      server.get('/old/orders', { config: { spec: routeSpecOf({ ...store.listOrders.client, deprecated: old }) } }, () => 'as before');
      server.get('/new', { config: { spec: routeSpecOf(catalog.getPlant.client) } }, () => 'new');
      await server.listen({ host: '127.0.0.1', port: 0 });
    });
    afterAll(() => server.close());

    const announcedBy = async (method: string, path: string): Promise<unknown> => {
      const { status, headers } = await fetch(`${server.listeningOrigin}${path}`, { method });
      return { status, deprecation: headers.get('deprecation'), sunset: headers.get('sunset') };
    };
    const announced = { deprecation: '@1796083200', sunset: 'Tue, 01 Jun 2027 00:00:00 GMT' };

    it('answers as before, with Deprecation and Sunset', async () => {
      expect(await announcedBy('GET', '/old')).toEqual({ status: 200, ...announced });
      expect(await announcedBy('HEAD', '/old')).toEqual({ status: 200, ...announced });
    });

    it('sends them with errors too', async () => {
      expect(await announcedBy('GET', '/old/orders')).toEqual({ status: 401, ...announced });
    });

    it('leaves other operations unchanged', async () => {
      expect(await announcedBy('GET', '/new')).toEqual({ status: 200, deprecation: null, sunset: null });
    });
  });

  describe('in the OpenAPI document', () => {
    interface Documented {
      readonly paths: Readonly<Record<string, Readonly<Record<string, {
        readonly description?: string;
        readonly deprecated?: boolean;
        readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>;
      }>>>>;
    }
    let shop: Shop;
    beforeAll(async () => {
      shop = await startShop({});
    });
    afterAll(() => shop.stop());

    it('is marked, with both dates and the response headers', () => {
      const served = shop.gateway.routes.map((route) =>
        ['getPlant', 'getImage'].includes(route.spec.operation) ? { ...route, spec: { ...route.spec, deprecated: old } } : route,
      );
      const { paths } = makeDocument(served, publicUrl) as Documented;
      for (const path of ['/plant/{plantId}', '/images/{imageId}']) {
        const operation = paths[path]?.['get'];
        expect(operation?.deprecated).toBe(true);
        expect(operation?.description).toMatch(/Deprecated since 2026-12-01. Works unchanged until 2027-06-01 /);
        for (const status of ['200', '304']) {
          expect(Object.keys(operation?.responses[status]?.headers ?? {})).toEqual(expect.arrayContaining(['Deprecation', 'Sunset']));
        }
      }
      expect(paths['/plant/{plantId}']?.['delete']?.deprecated).toBeUndefined();
    });
  });
});
