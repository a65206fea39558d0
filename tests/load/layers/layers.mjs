import { Socket } from 'node:net';
import { createRequire } from 'node:module';
import { store } from '../../../libs/contracts/dist/store.js';
import { presentedCredentialsOf } from '../../../libs/credentials/dist/presented-credentials.js';
import { createLogger } from '../../../libs/platform/dist/logging.js';
import { encodeEntry, encodeBatch, batchKinds } from '../../../libs/platform/dist/rpc/batch.js';
import { validated } from '../../../libs/platform/dist/rpc/validation.js';
import { constant, requests, withFastify } from './bare.mjs';
import { requestOf } from './connection.mjs';
import { costOf, costsOf } from './cost.mjs';
import { answered, startGateway } from './gateway.mjs';

// The gateway's own packages: this package would get separate copies of those with peer dependencies.
const gatewayPackage = createRequire(new URL('../../../apps/gateway/package.json', import.meta.url));
const { default: compress } = gatewayPackage('@fastify/compress');
const { Controller, Get, Module } = gatewayPackage('@nestjs/common');
const { NestFactory } = gatewayPackage('@nestjs/core');
const { FastifyAdapter } = gatewayPackage('@nestjs/platform-fastify');
const { Histogram, Registry } = gatewayPackage('prom-client');

/** @typedef {import('./cost.mjs').Cost} Cost */
/** @typedef {{ what: string, cost: Cost }} Layer */

async function withNest() {
  class Plants {
    get() {
      return constant;
    }
  }
  Reflect.decorate([Controller('v3/plant')], Plants);
  Reflect.decorate([Get(':plantId')], Plants.prototype, 'get', Object.getOwnPropertyDescriptor(Plants.prototype, 'get'));
  class App {}
  Reflect.decorate([Module({ controllers: [Plants] })], App);
  const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false });
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return { server: app.getHttpServer(), end: () => app.close() };
}

/**
 * Measures the additional cost of a server's response over bare Fastify's.
 * @param {{ server: import('node:http').Server, end: () => Promise<unknown> }} changed
 * @returns {Promise<Cost>}
 */
async function added(changed) {
  const plain = await withFastify();
  const request = requestOf('GET /v3/plant/7');
  const { bare, more } = await costsOf({ bare: requests(plain.server, request), more: requests(changed.server, request) });
  await Promise.all([plain.end(), changed.end()]);
  return { us: more.us - bare.us, bytes: more.bytes - bare.bytes };
}

/** @param {() => unknown} work */
const alone = (work) => costOf((times) => {
  for (let n = 0; n < times; n++) work();
});

/**
 * Measures whole requests of the gateway, and single layers in isolation, in this process.
 * @param {(text: string) => void} say
 * @returns {Promise<{ bare: Cost, whole: Layer[], parts: Layer[] }>}
 */
export async function measureLayers(say) {
  say('whole requests …');
  const key = { api_key: 'special-key' };
  const order = { plantId: 7, quantity: 2 };
  const [plain, gateway] = [await withFastify(), await startGateway()];
  const { bare, ...costs } = await costsOf({
    bare: requests(plain.server, requestOf('GET /v3/plant/7')),
    'gateway, a plant from its cache': requests(gateway.server, requestOf('GET /v3/plant/7')),
    'gateway, a plant from its cache, with an API key': requests(gateway.server, requestOf('GET /v3/plant/7', key)),
    'gateway, the inventory': requests(gateway.server, requestOf('GET /v3/store/inventory', key)),
    'gateway, placing an order': requests(gateway.server, requestOf('POST /v3/store/order', key, order)),
  });
  const whole = Object.entries(costs).map(([what, cost]) => ({ what, cost }));
  await Promise.all([plain.end(), gateway.end()]);

  const logger = createLogger('gateway', 'info', { write: () => undefined });
  const line = { method: 'GET', route: '/v3/plant/:plantId', operation: 'getPlant', ms: 1.23, requestId: 'c0ffee00-0000-4000-8000-000000000001', subject: undefined, status: 200 };
  const histogram = new Histogram({ name: 'a', help: 'a', labelNames: ['operation', 'status'], buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30], registers: [new Registry()] });
  const batch = () => encodeBatch(batchKinds.calls, [encodeEntry({ id: 1, op: 'getPlant', request: line.requestId, budgetMs: 1_900, deadline: 123_456 }, Buffer.from('{"plantId":7}'))]);
  const text = JSON.stringify({ order });
  const request = { headers: key, rawHeaders: ['api_key', key.api_key], socket: new Socket() };
  const headers = { 'x-content-type-options': 'nosniff', 'content-security-policy': "default-src 'none'; frame-ancestors 'none'", 'referrer-policy': 'no-referrer', 'cache-control': 'private, no-cache', 'x-request-id': 'a', 'ratelimit-policy': '"default";q=1200;w=60', ratelimit: '"default";r=1199;t=60', 'strict-transport-security': 'max-age=31536000' };

  /** @type {[string, () => Promise<Cost>][]} */
  const layers = [
    ['the access line', () => alone(() => logger.info(line, 'request'))],
    ['the histogram of durations', () => alone(() => histogram.observe({ operation: 'getPlant', status: 200 }, 0.0012))],
    ['a listener for the end of the connection, and a hook after the response', async () => added(await withFastify((app) => {
      app.addHook('onRequest', (_request, reply, done) => {
        reply.raw.once('close', () => undefined);
        done();
      });
      app.addHook('onResponse', (_request, _reply, done) => done());
    }))],
    ['reading an API key that the connection has sent before', () => alone(() => presentedCredentialsOf(request))],
    ['eight headers', async () => added(await withFastify((app) => {
      app.addHook('onRequest', (_request, reply, done) => {
        for (const [name, value] of Object.entries(headers)) reply.header(name, value);
        done();
      });
    }))],
    ["Nest's adapter and route", async () => added(await withNest())],
    ['the compression plug-in on an uncompressed route', async () => added(await withFastify(async (app) => {
      await app.register(compress, { global: false });
    }))],
    ['encoding a call', () => alone(batch)],
    ['its service: decoding the call, encoding the answer', () => {
      const encoded = batch();
      return alone(() => answered('catalog', encoded));
    }],
    ['the store: validating an order', () => {
      const payload = JSON.parse(text);
      return alone(() => validated(store.placeOrder.payload, payload));
    }],
  ];
  /** @type {Layer[]} */
  const parts = [];
  for (const [what, measure] of layers) {
    say(`${what.trim()} …`);
    parts.push({ what, cost: await measure() });
  }
  return { bare, whole, parts };
}
