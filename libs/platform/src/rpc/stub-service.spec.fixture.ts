import { IsInt, IsOptional, IsString } from 'class-validator';
import { createLogger, type Logger } from '../logging.js';
import { Nats, type NatsSettings } from '../nats.js';
import { RpcClient } from './client.js';
import type { RpcContext } from './context.js';
import { contextFor } from './context.spec.fixture.js';
import { type Operation, operationsOf } from './operation.js';
import type { OperationHandler } from './operation-handlers.js';
import { RpcServer, type RpcServerOptions } from './server.js';

// A minimal service with two operations, for tests of the platform itself.

export class Job {
  @IsString({ message: 'must be text' })
  name: string;

  @IsOptional()
  @IsInt({ message: 'must be a whole number' })
  size?: number;
}

const { read, write } = operationsOf<'idempotency-key-reused'>('stub');
export const readJob = read<{ seen: string }>()('readJob', Job);
export const writeJob = write<{ done: string }>()('writeJob', Job, { errors: ['idempotency-key-reused'] });

export type Handler = (job: Job, context: RpcContext) => unknown;

export const silentLogger = (): Logger => createLogger('test', 'silent');

/** One replica of the service. A test may replace its two handlers. */
export class StubService {
  private constructor(
    readonly nats: Nats,
    readonly server: RpcServer,
  ) {}

  static async start(
    url: string,
    handlers: { readonly readJob?: Handler; readonly writeJob?: Handler } = {},
    options: Partial<RpcServerOptions> = {},
    logger = silentLogger(),
  ): Promise<StubService> {
    const nats = await Nats.connect({ url, name: 'stub' }, logger);
    const server = new RpcServer(nats, { service: 'stub', maxInFlight: 1_000, ...options }, logger);
    const handlerOf = (operation: Operation<Job, unknown>, handler: Handler): OperationHandler => ({
      operation,
      handle: (job, context) => handler(job as Job, context),
    });
    server.serve([
      handlerOf(readJob, handlers.readJob ?? ((job) => ({ seen: job.name }))),
      handlerOf(writeJob, handlers.writeJob ?? ((job) => ({ done: job.name }))),
    ]);
    await new Promise<void>((resolve) => server.listen(resolve));
    return new StubService(nats, server);
  }

  async close(): Promise<void> {
    await this.server.stopAccepting();
    await this.server.finish(1_000);
    await this.nats.close(1_000);
  }
}

/** A caller in the place of the gateway. */
export class TestClient {
  private constructor(
    readonly nats: Nats,
    readonly client: RpcClient,
  ) {}

  static async connect(url: string, settings: Partial<NatsSettings> = {}): Promise<TestClient> {
    const logger = silentLogger();
    const nats = await Nats.connect({ url, name: 'gateway', ...settings }, logger);
    return new TestClient(nats, new RpcClient(nats, 'gateway', logger));
  }

  call<Payload, Answer>(operation: Operation<Payload, Answer>, payload: Payload): Promise<Answer> {
    return this.client.call(operation, payload, contextFor());
  }

  async close(): Promise<void> {
    this.client.close();
    await this.nats.close(1_000);
  }
}

/** A promise that the test resolves by calling `open`. */
export class Gate {
  readonly passed: Promise<void>;
  open!: () => void;

  constructor() {
    this.passed = new Promise((resolve) => (this.open = resolve));
  }
}
