import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { unavailable } from '@plant-shop/platform/errors';
import { type FastifyInstance, fastify } from 'fastify';
import { publicUrl, type Shop, startShop } from '../gateway.spec.fixture.js';
import { Load } from '../limits/load.js';
import { RateLimit } from '../limits/rate-limit.js';
import { makeDocument } from '../openapi/document.js';
import { sendProblem } from '../problems/send-problem.js';
import { deprecated } from './deprecation.js';
import { Entrance } from './entrance.js';
import { Routes } from './routes.js';
import { ruleFor } from './rule.js';

const old = deprecated('2026-12-01', '2027-06-01');

describe('a deprecated operation', () => {
  it('announces itself 180 days ahead at least', () => {
    expect(deprecated('2026-12-01', '2027-05-30').sunset).toEqual(new Date('2027-05-30T00:00:00Z'));
    expect(() => deprecated('2026-12-01', '2027-05-29')).toThrow('180 days');
    expect(() => deprecated('2026-12-01', '2027-02-30')).toThrow('2027-02-30 is no day');
    expect(() => deprecated('soon', '2027-06-01')).toThrow('soon is no day');
  });

  describe('over HTTP', () => {
    let server: FastifyInstance;
    beforeAll(async () => {
      const credentials = { findCached: () => undefined, check: () => Promise.reject(unavailable('identity')) };
      const routes = new Routes(new Entrance(credentials, new RateLimit(100)), new Load({ requests: 10, bodyBytes: 1_000 }));
      server = fastify();
      server.setErrorHandler((error, request, reply) => {
        sendProblem(error, request, reply, { publicUrl, logger: createLogger('gateway', 'fatal') });
      });
      routes.watch(server);
      server.get('/old', { config: { rule: ruleFor('getPlant', { deprecated: old }) } }, () => 'as before');
      server.get('/old/orders', { config: { rule: ruleFor('listOrders', { deprecated: old }) } }, () => 'as before');
      server.get('/new', { config: { rule: ruleFor('getPlant') } }, () => 'new');
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

    it('says it with refusals too', async () => {
      expect(await announcedBy('GET', '/old/orders')).toEqual({ status: 401, ...announced });
    });

    it('leaves other operations as they are', async () => {
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

    it('is marked, with both days and the headers of its answers', () => {
      const served = shop.gateway.routes.map((route) =>
        ['getPlant', 'getImage'].includes(route.rule.operation) ? { ...route, rule: { ...route.rule, deprecated: old } } : route,
      );
      const { paths } = makeDocument(served, publicUrl) as Documented;
      for (const path of ['/plant/{plantId}', '/images/{imageId}']) {
        const operation = paths[path]?.['get'];
        expect(operation?.deprecated).toBe(true);
        expect(operation?.description).toMatch(/Deprecated since 2026-12-01. It answers as before until 2027-06-01 /);
        for (const status of ['200', '304']) {
          expect(Object.keys(operation?.responses[status]?.headers ?? {})).toEqual(expect.arrayContaining(['Deprecation', 'Sunset']));
        }
      }
      expect(paths['/plant/{plantId}']?.['delete']?.deprecated).toBeUndefined();
    });
  });
});
