import type { Server as HttpServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { DynamicModule, INestApplicationContext, INestMicroservice, Type, WebSocketAdapter } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import type { Registry } from 'prom-client';
import { type Config, ConfigError, readConfig, type Settings } from '../config.js';
import { createLogger, type Logger, NestLogger } from '../logging.js';
import { Nats } from '../nats.js';
import { Database, type DatabaseSettings } from '../postgres/database.js';
import { RpcClient } from '../rpc/client.js';
import { directHandlersOf, passErrors } from '../rpc/operation-handlers.js';
import { RpcServer } from '../rpc/server.js';
import { startTracing, stopTracing, tracing } from '../telemetry/tracing.js';
import { infrastructureModule } from './infrastructure.module.js';
import { createMetrics, gauge, operationDurations, peerClockSkew, poolUse, sizeHistogram } from './metrics.js';
import { startOperationsServer } from './operations-server.js';
import { Readiness } from './readiness.js';
import type { serviceSettings } from './settings.js';

/** One phase of a shutdown. After its limit the next phase begins, even if it has not ended. */
export interface ShutdownPhase {
  readonly name: string;
  readonly limitMs: number;
  readonly run: () => Promise<void> | void;
}

/** Runs the phases in order. A phase that fails or exceeds its limit is logged, and the next one runs. */
export async function shutDown(phases: readonly ShutdownPhase[], logger: Logger): Promise<void> {
  for (const phase of phases) {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), phase.limitMs);
    });
    try {
      const end = await Promise.race([(async () => phase.run())(), limit]);
      if (end === 'late') logger.warn({ phase: phase.name, limitMs: phase.limitMs }, 'shutdown phase took too long');
    } catch (error) {
      logger.error({ err: error, phase: phase.name }, 'shutdown phase failed');
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The transport of an app that handles no RPC calls. */
export class NoRpcTransport extends Server implements CustomTransportStrategy {
  listen(callback: () => void): void {
    callback();
  }

  close(): void {
    // Nothing was opened.
  }

  on(): never {
    throw new Error('NoRpcTransport has no events');
  }

  unwrap(): never {
    throw new Error('NoRpcTransport has no connection');
  }
}

export type ServiceConfig = Config<typeof serviceSettings>;

/** Options of apps with WebSocket gateways. */
export interface Gateways {
  /** The app's provider of the adapter for its gateways' sockets. */
  readonly webSocketAdapter?: Type<WebSocketAdapter>;
}

/** Reads a service's environment. Prints all faults and ends the process with exit code 78 if there are any. */
export function configOrExit<S extends Settings>(
  settings: S,
  faultsOf?: (config: Config<S>) => readonly string[],
): Config<S> {
  try {
    return readConfig(settings, process.env, faultsOf);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(78); // EX_CONFIG of sysexits.h
  }
}

/**
 * The life cycle of every service. It starts in this order: operations port, NATS, database, app. It stops in the opposite order, each
 * phase within its own limit (at most 17 s in all): readiness off → stop accepting → finish calls → stop background work → close
 * connections.
 */
export class Service {
  readonly readiness = new Readiness();
  readonly metrics: Registry;
  private readonly beforeClosePhases: ShutdownPhase[] = [];
  private readonly closePhases: ShutdownPhase[] = [];
  private readonly stopped = new AbortController();
  private stopping: Promise<void> | undefined;
  private isStarted = false;
  private ownsProcess = false;

  private constructor(
    readonly name: string,
    readonly config: ServiceConfig,
    readonly logger: Logger,
  ) {
    this.metrics = createMetrics(name);
  }

  nats!: Nats;
  rpc!: RpcClient;
  database: Database | undefined;
  private operations: HttpServer | undefined;
  /** Of the operations port. */
  private readonly commands = new Map<string, (seconds: number) => void>();

  /** Starts the service of this process. SIGTERM and SIGINT stop it in order. */
  static async start(name: string, config: ServiceConfig): Promise<Service> {
    // First, because all that follows checks whether tracing is on.
    const faults = await startTracing(name, process.env);
    const service = new Service(name, config, createLogger(name, config.logLevel));
    const { logger } = service;
    if (faults.length > 0) logger.warn({ faults }, 'tracing is off: invalid settings');
    tracing?.logTo((text) => logger.warn({ reason: text }, 'spans not sent'));
    service.handleSignals();
    service.ownsProcess = true;
    await service.startUp();
    return service;
  }

  /** Starts a service for a test, which may run several in one process and stops them itself. */
  static async embedded(name: string, config: ServiceConfig): Promise<Service> {
    const service = new Service(name, config, createLogger(name, config.logLevel));
    await service.startUp();
    return service;
  }

  /**
   * Connects to the database. Waits until it answers and has the schema of this build; until then the service is not ready.
   * Ends the process with exit code 78 if the database has another mode than the settings.
   * @throws Error when the service is stopped meanwhile
   */
  async useDatabase(settings: DatabaseSettings): Promise<Database> {
    let state: unknown = new Error('not connected yet');
    this.readiness.require('database', async () => {
      if (!this.database) throw state;
      await this.database.check();
    });
    // While the database does not answer, only the check above reports it.
    this.readiness.require('schema', async () => {
      const fault = await this.database?.schemaFault().catch(() => undefined);
      if (fault !== undefined) throw new Error(fault);
    });
    let modeFault: string | undefined;
    for (let attempt = 0; ; attempt++) {
      this.stopped.signal.throwIfAborted();
      try {
        this.database ??= await Database.connect(settings, this.logger);
        if ((await this.database.schemaFault()) === undefined) {
          modeFault = await this.database.modeFault();
          break;
        }
      } catch (error) {
        state = error;
        if (attempt % 20 === 0) this.logger.warn({ err: error }, 'database not usable yet');
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    if (modeFault !== undefined) this.refuseStart(modeFault);
    const { database } = this;
    poolUse(this.metrics, () => database.poolUse);
    return database;
  }

  /** Runs an app that answers the operations of its controllers over NATS. */
  async answer(module: Type | DynamicModule, options: Gateways & { readonly maxInFlight: number }): Promise<INestApplicationContext> {
    const durations = operationDurations(this.metrics);
    const server = new RpcServer(
      this.nats,
      {
        service: this.name,
        maxInFlight: options.maxInFlight,
        onAnswered: (operation, code, seconds) => durations.observe({ operation, code }, seconds),
      },
      this.logger,
    );
    this.commands.set('/takeMost', (seconds) => server.takeMost(seconds));
    gauge(this.metrics, 'rpc_in_flight', 'Calls being carried out', () => server.inFlight);
    peerClockSkew(this.metrics, () => server.callerSkews());
    const app = await NestFactory.createMicroservice(infrastructureModule(module, this, passErrors), { strategy: server, ...this.nestOptions });
    server.serve(directHandlersOf(app));
    useGateways(app, options);
    this.beforeClose({ name: 'stop accepting calls', limitMs: 1_500, run: () => server.stopAccepting() });
    this.beforeClose({
      name: 'finish calls',
      limitMs: 5_500,
      run: async () => {
        const left = await server.finish(5_000);
        if (left > 0) this.logger.warn({ left }, 'calls not finished');
      },
    });
    this.onClose({ name: 'stop background work', limitMs: 2_500, run: () => app.close() });
    this.loaded();
    await app.listen();
    this.started();
    this.logger.info('listening');
    return app;
  }

  /** Runs an app that answers no calls: it serves clients in another way, or has only background work. */
  async run(module: Type | DynamicModule, gateways: Gateways = {}): Promise<INestApplicationContext> {
    // A microservice without operations, since an application context would not connect WebSocket gateways.
    const app = await NestFactory.createMicroservice(infrastructureModule(module, this), { strategy: new NoRpcTransport(), ...this.nestOptions });
    useGateways(app, gateways);
    this.onClose({ name: 'stop background work', limitMs: 2_500, run: () => app.close() });
    await app.listen();
    this.loaded();
    this.started();
    this.logger.info('running');
    return app;
  }

  private get nestOptions(): { logger: NestLogger; abortOnError: false } {
    // A failed start throws its error, which is logged, instead of aborting the process.
    return { logger: new NestLogger(this.logger), abortOnError: false };
  }

  /** Call it when everything is loaded and before the first call can arrive. `answer` and `run` call it themselves. */
  loaded(): void {
    if (this.ownsProcess) releaseStartupMemory();
  }

  /** Call it when clients can reach everything that the service offers: it may be ready from then on. `answer` and `run` call it. */
  started(): void {
    this.isStarted = true;
  }

  /** Adds a shutdown phase that runs while connections are still open. These phases run in the order of registration. */
  beforeClose(phase: ShutdownPhase): void {
    this.beforeClosePhases.push(phase);
  }

  /** Adds a shutdown phase that runs after those of `beforeClose`. These phases run in reverse order of registration. */
  onClose(phase: ShutdownPhase): void {
    this.closePhases.unshift(phase);
  }

  stop(): Promise<void> {
    this.stopped.abort(new Error('stopped while starting'));
    this.stopping ??= this.runShutdown();
    return this.stopping;
  }

  /** @throws Error in a test's process */
  private refuseStart(reason: string): never {
    if (!this.ownsProcess) throw new Error(reason);
    this.logger.fatal({}, reason);
    process.exit(78); // EX_CONFIG of sysexits.h
  }

  private handleSignals(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => void this.stop().then(() => process.exit(0)));
    }
    // The state in memory can no longer be trusted: the process ends, and its supervisor starts a new one.
    process.on('uncaughtException', (error) => {
      if (this.stopping !== undefined) {
        // A part that was still starting fails now; the shutdown continues.
        this.logger.warn({ err: error }, 'error during shutdown');
        return;
      }
      this.logger.fatal({ err: error }, this.isStarted ? 'uncaught error, the process ends' : 'the start failed, the process ends');
      process.exit(1);
    });
  }

  private async startUp(): Promise<void> {
    const { config, logger } = this;
    this.readiness.require('start', () => {
      if (!this.isStarted) throw new Error('still starting');
    });
    this.readiness.require('nats', () => {
      const nats = this.nats as Nats | undefined;
      if (!nats?.isUp) throw new Error('not connected');
      const refused = nats.refusedSubjects;
      if (refused.length > 0) throw new Error(`NATS account permissions deny subscribing to ${refused.join(', ')}`);
      if (!nats.hasConfirmedSubscriptions) throw new Error('subscriptions not confirmed yet');
    });
    this.operations = await startOperationsServer(
      { host: config.opsHost, port: config.opsPort },
      this.readiness,
      this.metrics,
      this.commands,
    );
    this.nats = await Nats.connect(
      {
        url: config.natsUrl,
        name: this.name,
        ca: config.natsCa,
        ...(config.natsUser && { user: config.natsUser, password: config.natsPassword }),
      },
      logger,
      this.stopped.signal,
    );
    const onBatch = sizeHistogram(this.metrics, 'rpc_batch_calls', 'Calls to another service that went in one message');
    this.rpc = new RpcClient(this.nats, this.name, logger, onBatch);
    gauge(this.metrics, 'rpc_calls_in_flight', 'Calls to other services under way', () => this.rpc.inFlight);
  }

  private async runShutdown(): Promise<void> {
    this.logger.info('stopping');
    await shutDown(
      [
        { name: 'readiness off', limitMs: 100, run: () => this.readiness.drain() },
        ...this.beforeClosePhases,
        ...this.closePhases,
        {
          name: 'close nats',
          limitMs: 1_500,
          run: async () => {
            // A service may be stopped before it has started.
            (this.rpc as RpcClient | undefined)?.close();
            await (this.nats as Nats | undefined)?.close(1_200);
          },
        },
        { name: 'send the last spans', limitMs: 500, run: stopTracing },
        { name: 'close database', limitMs: 1_500, run: () => this.database?.close() },
        {
          name: 'close operations port',
          limitMs: 500,
          run: () => {
            this.operations?.close();
            this.operations?.closeAllConnections();
          },
        },
      ],
      this.logger,
    );
    this.logger.info('stopped');
  }
}

/** Sets the app's WebSocket adapter. Must be called before the app is initialised. */
function useGateways(app: INestMicroservice, { webSocketAdapter }: Gateways): void {
  if (webSocketAdapter) app.useWebSocketAdapter(app.get(webSocketAdapter));
}

type Collect = (how: { execution: 'sync'; type: 'major'; flavor: 'last-resort' }) => void;

/**
 * Returns memory that only startup needed to the system: the heap that grew while modules were loaded, and code that ran once. It is a
 * fifth of a service's memory, and V8 does not release it in a process that allocates little afterwards. Blocks the process for about
 * 100 ms, so call it before the first request can arrive.
 */
export function releaseStartupMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ execution: 'sync', type: 'major', flavor: 'last-resort' });
}
