import type { Server } from 'node:http';
import compress from '@fastify/compress';
import replyFrom from '@fastify/reply-from';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { followRevocations, RevocationLog } from '@plant-shop/credentials/revocation-log';
import { NestLogger } from '@plant-shop/platform/logging';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { ConnectionLimit, leastSockets, listenAlso, reusePort } from '@plant-shop/platform/service/connection-limit';
import { infrastructureModule } from '@plant-shop/platform/service/infrastructure.module';
import type { Service } from '@plant-shop/platform/service/service';
import { serveConsole } from './console/console.js';
import { redirectToDocs } from './docs/docs.controller.js';
import { GatewayModule } from './gateway.module.js';
import { ForwardedOperations } from './operations/forwarded-operations.js';
import { atRequestEnd, requestLog } from './http/access-log.js';
import { brotliOptions, compressFromBytes, secureAnswers } from './http/headers.js';
import { RequestAuthenticator } from './http/request-authenticator.js';
import { traceRequests } from './http/request-spans.js';
import { Routes, type ServedRoute, supportAllMethods } from './http/route-checks.js';
import { createAdapter } from './http/server.js';
import { Uploads } from './images/uploads.js';
import { ConcurrencyLimiter } from './limits/concurrency-limiter.js';
import type { GatewayOptions } from './config.js';
import { ProblemFilter } from './http/problem.js';

/**
 * Connections waiting to be accepted; Linux caps it at net.core.somaxconn. Beyond it, clients retry after 1, 3 and 7 s, and
 * Node's default of 511 is too few for a burst.
 */
const backlog = 4_096;

/** Connections, most of them idle, for each request that may be in flight. */
const socketsPerRequest = 4;

export interface Gateway {
  /** The address where it listens. */
  readonly url: string;
  readonly server: Server;
  readonly routes: readonly ServedRoute[];
}

/** Creates the gateway with all its routes and hooks, without listening. */
export async function createGateway(
  service: Pick<Service, 'name' | 'logger' | 'nats' | 'rpc' | 'metrics' | 'readiness' | 'database'>,
  options: GatewayOptions,
): Promise<{ app: NestFastifyApplication; routes: Routes; drain: ConnectionDrain }> {
  const { logger } = service;
  const limiter = new ConcurrencyLimiter({
    requests: options.maxInFlight,
    bodyBytes: options.maxBodyMib * 1024 * 1024,
    clientShare: options.clientInFlightShare / 100,
  });
  limiter.observe(service.metrics);
  const { publicUrl, sandbox, corsOrigins, trustedProxies, requestTimeoutMs } = options;
  const drain = new ConnectionDrain();
  const parts = { publicUrl, sandbox, corsOrigins, trustedProxies, requestTimeoutMs, limiter, logger, drain };
  const adapter = createAdapter(parts);
  const instance = adapter.getInstance();
  const app = await NestFactory.create<NestFastifyApplication>(
    infrastructureModule(GatewayModule.with(options, limiter, logger, drain), service, { provide: APP_FILTER, useValue: new ProblemFilter(parts) }),
    adapter,
    { bodyParser: false, logger: new NestLogger(logger), abortOnError: false },
  );

  const sockets = Math.max(leastSockets, socketsPerRequest * options.maxInFlight);
  new ConnectionLimit({ sockets, silentPerNetwork: options.silentConnections, trustedProxies }, service.metrics, logger).watch(instance.server);
  drain.watch(instance.server);
  const routes = app.get(Routes);
  supportAllMethods(instance);
  const authenticator = app.get(RequestAuthenticator);
  atRequestEnd(
    instance,
    ({ raw, slot }) => slot && slot !== raw.agentSlot && limiter.release(slot),
    (request, _reply, ms) => authenticator.countTime(request, ms),
    requestLog(logger, service.metrics),
  );
  traceRequests(instance);
  secureAnswers(instance, options);
  routes.install(instance);
  await instance.register(compress, { global: false, threshold: compressFromBytes, encodings: ['br', 'gzip'], brotliOptions });
  await instance.register(replyFrom, { base: options.identityHttpUrl, disableRequestLogging: true });
  app.get(Uploads).register(instance);
  redirectToDocs(instance);
  if (!serveConsole(instance, options)) logger.warn({}, 'the console is not built: /console answers 404');
  await app.init();
  app.get(ForwardedOperations).register(instance);
  routes.refuseOtherMethods(instance);
  return { app, routes, drain };
}

export async function startGateway(service: Service, options: GatewayOptions): Promise<Gateway> {
  const { logger } = service;
  const { app, routes, drain } = await createGateway(service, options);
  followRevocations(service, app.get(RevocationLog));
  const server: Server = app.getHttpServer();
  const listening = new AbortController();
  service.beforeClose({ name: 'announce the end', limitMs: 2_500, run: () => drain.announce() });
  service.beforeClose({
    name: 'finish requests',
    limitMs: 6_000,
    run: async () => {
      listening.abort();
      server.close();
      // Nest would not wait for the connections that other sockets have accepted.
      await drain.finish(5_000);
      await app.close();
    },
  });
  service.loaded();
  const address = { host: options.host, port: options.port, backlog, reusePort };
  await app.listen(address);
  await listenAlso(server, { ...address, signal: listening.signal });
  service.started();
  logger.info({ host: options.host, port: options.port }, 'listening');
  return { url: app.getHttpAdapter().getInstance().listeningOrigin, server, routes: routes.served };
}
