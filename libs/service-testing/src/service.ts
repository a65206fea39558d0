import { createLogger, type Logger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import type { HandlerResult } from '@plant-shop/platform/rpc/answer';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, type Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { gateway, type Operation } from '@plant-shop/platform/rpc/operation';
import { RpcServer } from '@plant-shop/platform/rpc/server';
import { Service, type ServiceConfig } from '@plant-shop/platform/service/service';
import { sampleOf } from './samples.js';

/** Returns the configuration of a service that runs inside a test. Set TEST_LOG_LEVEL=debug to see its log. */
export const testConfig = (natsUrl: string): ServiceConfig => ({
  nodeEnv: 'test',
  logLevel: process.env['TEST_LOG_LEVEL'] === 'debug' ? 'debug' : 'error',
  natsUrl,
  natsCa: '',
  natsUser: '',
  natsPassword: '',
  opsHost: '127.0.0.1',
  opsPort: 0,
});

/** Starts a service inside the test's process, in the same way as in production, with real NATS and Postgres. */
export async function startService(
  name: string,
  natsUrl: string,
  start: (service: Service) => Promise<unknown>,
): Promise<Service> {
  const service = await Service.embedded(name, testConfig(natsUrl));
  try {
    await start(service);
  } catch (error) {
    // Else its connections and timers would outlive the test.
    await service.stop();
    throw error;
  }
  return service;
}

/** Calls in the place of the gateway, or of another service if the gateway may not make a call. */
export class TestCaller {
  private readonly clients = new Map<string, RpcClient>();

  private constructor(
    private readonly nats: Nats,
    private readonly logger: Logger,
  ) {}

  static async connect(natsUrl: string): Promise<TestCaller> {
    const logger = createLogger('test', 'fatal');
    return new TestCaller(await Nats.connect({ url: natsUrl, name: 'test' }, logger), logger);
  }

  /** The gateway's client. */
  get client(): RpcClient {
    return this.clientOf(gateway);
  }

  clientOf(service: string): RpcClient {
    const client = this.clients.get(service) ?? new RpcClient(this.nats, service, this.logger);
    this.clients.set(service, client);
    return client;
  }

  call<Payload, Answer>(
    operation: Operation<Payload, Answer>,
    payload: Payload,
    principal?: Principal,
    budgetMs = 10_000,
  ): Promise<Answer> {
    const [caller = gateway] = operation.callers;
    return this.clientOf(caller).call(operation, payload, contextFor(principal, budgetMs));
  }

  /** Reads a list to its end. @returns the entries of each page */
  async pages<Payload extends { cursor?: string }, Entry>(operation: Operation<Payload, readonly Entry[]>, payload: Payload, principal?: Principal): Promise<Entry[][]> {
    const pages: Entry[][] = [];
    let cursor: string | undefined;
    do {
      const asked = { ...payload, ...(cursor !== undefined && { cursor }) };
      const page = await this.client.callRaw(operation, asked, contextFor(principal));
      pages.push(JSON.parse(Buffer.from(page.payload).toString()) as Entry[]);
      cursor = page.next;
    } while (cursor !== undefined);
    return pages;
  }

  async close(): Promise<void> {
    for (const client of this.clients.values()) client.close();
    await this.nats.close(1_000);
  }
}

export const contextFor = (principal?: Principal, budgetMs = 10_000): RpcContext =>
  new RpcContext('test', Deadline.in(budgetMs), principal);

/** An operation of a fake service, and its answer. */
export interface Fake {
  readonly operation: Operation<unknown, unknown>;
  readonly answer: (payload: never, context: RpcContext) => unknown;
}

/** Fakes an operation. Without an answer, it answers with the contract's sample. */
export const fake = <Payload, Answer>(
  operation: Operation<Payload, Answer>,
  answer: (payload: Payload, context: RpcContext) => Promise<HandlerResult<Answer>> | HandlerResult<Answer> = () => sampleOf(operation).answer,
): Fake => ({ operation, answer });

/** Starts a fake of another service. It answers over real NATS and validates payloads against the contract. */
export async function startFake(natsUrl: string, service: string, fakes: readonly Fake[]): Promise<{ stop: () => Promise<void> }> {
  const logger = createLogger(`fake ${service}`, 'fatal');
  const nats = await Nats.connect({ url: natsUrl, name: service }, logger);
  const server = new RpcServer(nats, { service, maxInFlight: 1_000 }, logger);
  server.serve(fakes.map(({ operation, answer }) => ({ operation, handle: (payload, context) => answer(payload as never, context) })));
  await new Promise<void>((resolve) => server.listen(resolve));
  await nats.connection.flush();
  return {
    stop: async () => {
      await server.stopAccepting();
      await nats.close(1_000);
    },
  };
}
