import type { INestApplicationContext } from '@nestjs/common';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { callsSubject } from '@plant-shop/platform/rpc/subjects';
import { Service } from '@plant-shop/platform/service/service';
import { testConfig } from '../service.js';
import { troubleNats } from './nats.js';
import { TroubledDatabase } from './postgres.js';
import type { Run } from './run.js';

export type Start = (service: Service) => Promise<unknown>;
type OnMessage = Parameters<Nats['listen']>[1];

/** A replica of a service inside the test's process, with what it does to its database in the test's hands. */
export class Replica {
  protected readonly database: TroubledDatabase;

  protected constructor(
    protected readonly service: Service,
    readonly app: INestApplicationContext,
  ) {
    if (!service.database) throw new Error(`${service.name} has no database`);
    this.database = new TroubledDatabase(service.database);
  }

  /** One that answers calls like any other, and goes on with what others left. */
  static async start(name: string, natsUrl: string, start: Start): Promise<Replica> {
    const service = await Service.embedded(name, testConfig(natsUrl));
    return new Replica(service, await appOf(service, start));
  }

  /** It stands still; resolves when nothing of it is under way. */
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
 * One that only its own `caller` reaches, and that does nothing by itself. All that leaves it is in the test's hands, and it
 * can be gone from one moment to the next, without any of its shutdown.
 */
export class Victim extends Replica {
  private constructor(
    service: Service,
    app: INestApplicationContext,
    private readonly callerNats: Nats,
    /** Over real NATS, but for the way there: so what the replica does for it belongs to the run. */
    readonly caller: RpcClient,
  ) {
    super(service, app);
    troubleNats(service.nats);
  }

  static override async start(name: string, natsUrl: string, start: Start): Promise<Victim> {
    const service = await Service.embedded(name, testConfig(natsUrl));
    const calls = takeCalls(service);
    const app = await appOf(service, start);
    const logger = createLogger('test', 'fatal');
    const nats = await Nats.connect({ url: natsUrl, name: 'gateway' }, logger);
    const publish = nats.connection.publish.bind(nats.connection);
    nats.connection.publish = (subject, data, options) => {
      // The server reads no more of a message than these.
      if (subject === callsSubject(name)) calls.take({ subject, data, reply: options?.reply } as never);
      else publish(subject, data, options);
    };
    const victim = new Victim(service, app, nats, new RpcClient(nats, 'gateway', logger));
    // Its calls take no way over the server, which might be asked for its clock before it knows its inbox.
    await nats.connection.flush();
    await victim.pause();
    return victim;
  }

  /** The process is gone. Resolves when what is left of it in memory was cleared away, for which nobody need wait. */
  async kill(run?: Run): Promise<void> {
    this.database.cut();
    this.caller.close();
    await Promise.all([this.service.nats.close(0), this.callerNats.close(0)]);
    run?.bury();
    await this.service.stop();
  }
}

/** Services keep their app to themselves. */
async function appOf(service: Service, start: Start): Promise<INestApplicationContext> {
  let app: INestApplicationContext | undefined;
  const answer = service.answer.bind(service);
  service.answer = async (module, options) => (app = await answer(module, options));
  await start(service);
  if (!app) throw new Error(`${service.name} answers nothing`);
  return app;
}

/** Keeps the service from hearing calls over NATS; the test hands them over, within its run. */
function takeCalls({ name, nats }: Service): { take: OnMessage } {
  const calls: { take: OnMessage } = { take: () => undefined };
  const listen = nats.listen.bind(nats);
  nats.listen = (subject, onMessage, options) => {
    if (subject !== callsSubject(name)) return listen(subject, onMessage, options);
    calls.take = onMessage;
    return { drain: () => Promise.resolve(), stop: () => undefined };
  };
  return calls;
}
