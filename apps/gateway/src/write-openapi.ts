import { writeFileSync } from 'node:fs';
import { createLogger } from '@plant-shop/platform/logging';
import type { Nats } from '@plant-shop/platform/nats';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { Readiness } from '@plant-shop/platform/service/readiness';
import { Registry } from 'prom-client';
import { createGateway } from './start.js';
import { makeDocument } from './openapi/document.js';

// `npm run openapi`: writes docs/api/openapi.json from the routes as a sandbox serves them at the default address.

const publicUrl = 'http://localhost:8080';
// Only the routes are read. Background loops start with the app, and find no other service.
const listener = { stop: () => undefined, drain: async () => undefined };
const nats = { isUp: false, listen: () => listener } satisfies Pick<Nats, 'isUp' | 'listen'> as unknown as Nats;
const rpc = { call: () => Promise.reject(new Error('there are no services')) } satisfies Pick<RpcClient, 'call'> as unknown as RpcClient;

const { app, routes } = await createGateway(
  {
    name: 'gateway',
    logger: createLogger('gateway', 'error'),
    nats,
    rpc,
    metrics: new Registry(),
    readiness: new Readiness(),
    database: undefined,
  },
  {
    sandbox: true,
    host: '127.0.0.1',
    port: 0,
    publicUrl,
    identityHttpUrl: publicUrl,
    rateLimitPerMinute: 1,
    trustedProxies: [],
    corsOrigins: [],
    docsOAuthClient: '',
    consoleOAuthClient: '',
    streamPublicUrl: '',
    maxInFlight: 1,
    clientInFlightShare: 100,
    silentConnections: 64,
    maxBodyMib: 1,
    readCacheMib: 1,
    requestTimeoutMs: 1_000,
    requestBudgetMs: 1_000,
  },
);
// Plug-ins register their routes in ready().
await app.getHttpAdapter().getInstance().ready();
const file = new URL('../../../docs/api/openapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(makeDocument(routes.served, publicUrl), null, 2)}\n`);
await app.close();
