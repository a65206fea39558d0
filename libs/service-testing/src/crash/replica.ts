import type { INestApplicationContext } from '@nestjs/common';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { callsSubject, gateway } from '@plant-shop/platform/rpc/operation';
import { Service } from '@plant-shop/platform/service/service';
import { testConfig } from '../service.js';
import { injectNatsFaults } from './nats.js';
import { FaultyDatabase } from './postgres.js';
import type { Run } from './run.js';

export type Start = (service: Service) => Promise<unknown>;
type OnMessage = Parameters<Nats['listen']>[1];

/** A replica of a service inside the test's process, whose background work the test can pause. */
export class Replica {
  protected readonly database: FaultyDatabase;

  protected constructor(
    protected readonly service: Service,
    readonly app: INestApplicationContext,
  ) {
    if (!service.database) throw new Error(`${service.name} has no database`);
    this.database = new FaultyDatabase(service.database);
  }

  /** Starts a replica that answers calls over NATS and runs its background work. */
  static async start(name: string, natsUrl: string, start: Start): Promise<Replica> {
    const service = await Service.embedded(name, testConfig(natsUrl));
    return new Replica(service, await appOf(service, start));
  }

  /** Pauses its use of the database. Resolves when no connection is in use. */
  pause(): Promise<void> {
    return this.database.pause();
  }

  resume(): void {
    this.database.resume();
  }

  stop(): Promise<void> {
    this.resume();
    return this.service.stop();
  }
}

/**
 * A replica into whose outgoing calls the test injects faults. Only its own `caller` reaches it. It does no background work, and can
 * end abruptly, without a shutdown.
 */
export class CrashableReplica extends Replica {
  private constructor(
    service: Service,
    app: INestApplicationContext,
    private readonly callerNats: Nats,
    /** Delivers its calls directly, within the asynchronous context of the run; answers travel over real NATS. */
    readonly caller: RpcClient,
  ) {
    super(service, app);
    injectNatsFaults(service.nats, service.name);
  }

  static override async start(name: string, natsUrl: string, start: Start): Promise<CrashableReplica> {
    const service = await Service.embedded(name, testConfig(natsUrl));
    const calls = interceptCalls(service);
    const app = await appOf(service, start);
    const logger = createLogger('test', 'fatal');
    const nats = await Nats.connect({ url: natsUrl, name: gateway }, logger);
    const publish = nats.connection.publish.bind(nats.connection);
    nats.connection.publish = (subject, data, options) => {
      // The members of a message that `RpcServer` reads.
      if (subject === callsSubject(name, gateway)) calls.deliver({ subject, data, reply: options?.reply } as never);
      else publish(subject, data, options);
    };
    const replica = new CrashableReplica(service, app, nats, new RpcClient(nats, gateway, logger));
    // Calls bypass the NATS server, so it might get a clock request before the subscription of the caller's inbox.
    await nats.connection.flush();
    await replica.pause();
    return replica;
  }

  /** Ends the replica abruptly. Resolves when its memory is freed; callers need not wait for that. */
  async kill(run?: Run): Promise<void> {
    this.database.cut();
    this.caller.close();
    await Promise.all([this.service.nats.close(0), this.callerNats.close(0)]);
    run?.release();
    await this.service.stop();
  }
}

/** Starts the service and returns its app, which is private to the service. */
async function appOf(service: Service, start: Start): Promise<INestApplicationContext> {
  let app: INestApplicationContext | undefined;
  const answer = service.answer.bind(service);
  service.answer = async (module, options) => (app = await answer(module, options));
  await start(service);
  if (!app) throw new Error(`${service.name} has no app that answers calls`);
  return app;
}

/** Keeps the service from receiving calls over NATS: the test delivers them itself, within its run. */
function interceptCalls({ name, nats }: Service): { deliver: OnMessage } {
  const calls: { deliver: OnMessage } = { deliver: () => undefined };
  const listen = nats.listen.bind(nats);
  nats.listen = (subject, onMessage, options) => {
    if (subject !== callsSubject(name, '*')) return listen(subject, onMessage, options);
    calls.deliver = onMessage;
    return { drain: () => Promise.resolve(), stop: () => undefined };
  };
  return calls;
}
