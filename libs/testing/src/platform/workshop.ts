import { createLogger, type Logger } from '@plant-shop/platform/logging';
import { Nats, type NatsSettings } from '@plant-shop/platform/nats';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { type Operation, operationsOf } from '@plant-shop/platform/rpc/operation';
import { RpcServer, type RpcServerOptions } from '@plant-shop/platform/rpc/server';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { of } from 'rxjs';

// A service without a domain, for tests of the mechanisms: small enough to stop half-way.

export class Job {
  @IsString({ message: 'must be text' })
  name: string;

  @IsOptional()
  @IsInt({ message: 'must be a whole number' })
  size?: number;
}

const { read, write } = operationsOf('workshop');
export const look = read<{ seen: string }>()('look', Job);
export const work = write<{ done: string }>()('work', Job);

export type Handler = (job: Job, context: RpcContext) => unknown;

export const silent = (): Logger => createLogger('test', 'silent');

/** One replica: `look` and `work` with what the test makes of them. */
export class Workshop {
  private constructor(
    readonly nats: Nats,
    readonly server: RpcServer,
  ) {}

  static async open(
    url: string,
    handlers: { readonly look?: Handler; readonly work?: Handler } = {},
    options: Partial<RpcServerOptions> = {},
    logger = silent(),
  ): Promise<Workshop> {
    const nats = await Nats.connect({ url, name: 'workshop' }, logger);
    const server = new RpcServer(nats, { service: 'workshop', maxInFlight: 1_000, ...options }, logger);
    const add = (operation: Operation<Job, unknown>, handler: Handler): void => {
      const handle = async (job: unknown, context: unknown) => of(await handler(job as Job, context as RpcContext));
      server.addHandler(operation.pattern, handle, false, { operation });
    };
    add(look, handlers.look ?? ((job) => ({ seen: job.name })));
    add(work, handlers.work ?? ((job) => ({ done: job.name })));
    await new Promise<void>((resolve) => server.listen(resolve));
    return new Workshop(nats, server);
  }

  async close(): Promise<void> {
    await this.server.stopAccepting();
    await this.server.finish(1_000);
    await this.nats.close(1_000);
  }
}

/** Someone who calls, with the connection in reach of the test. */
export class Customer {
  private constructor(
    readonly nats: Nats,
    readonly client: RpcClient,
  ) {}

  static async arrive(url: string, settings: Partial<NatsSettings> = {}): Promise<Customer> {
    const logger = silent();
    const nats = await Nats.connect({ url, name: 'gateway', ...settings }, logger);
    return new Customer(nats, new RpcClient(nats, 'gateway', logger));
  }

  async leave(): Promise<void> {
    this.client.close();
    await this.nats.close(1_000);
  }
}

/** A promise that the test ends when it wants to. */
export class Gate {
  readonly passed: Promise<void>;
  open!: () => void;

  constructor() {
    this.passed = new Promise((resolve) => (this.open = resolve));
  }
}
