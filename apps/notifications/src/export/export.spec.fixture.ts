import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager, type StoredMsg, type StreamConfig } from '@nats-io/jetstream';
import { connect, type ConnectionOptions } from '@nats-io/transport-node';
import { type Destination, type DestinationReplacement, type NewDestination, notifications } from '@plant-shop/contracts/notifications';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { TestCaller } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { type Replica, Shop } from '../stream/stream.spec.fixture.js';

export const admin: Principal = { subject: '00000000-0000-4000-8000-00000000ad01', permissions: [...permissionsOfRole.admin], shown: ['session'] };

interface Stored {
  readonly id: string;
  readonly subject: string;
  readonly header: (name: string) => string;
  readonly body: string;
}

/** A NATS server with JetStream whose data outlives it. */
export class TestBroker {
  /** How the test itself connects. */
  access: Pick<ConnectionOptions, 'user' | 'pass' | 'token' | 'authenticator'> = {};

  private constructor(
    readonly nats: TestNats,
    private readonly folder: string,
  ) {}

  /** @param config of the server, in addition */
  static async start(config = ''): Promise<TestBroker> {
    const folder = await mkdtemp(join(tmpdir(), 'test-jetstream-'));
    return new TestBroker(await startNats({ config: `${TestBroker.config(folder)}\n${config}` }), folder);
  }

  private static config(folder: string): string {
    return `jetstream { store_dir: "${folder}" }`;
  }

  reconfigure(config: string): Promise<void> {
    return this.nats.reconfigure(`${TestBroker.config(this.folder)}\n${config}`);
  }

  /** Makes a copy of the data, as a backup does. The server must be down. @returns what puts it back */
  async copy(): Promise<() => Promise<void>> {
    const backup = await mkdtemp(join(tmpdir(), 'test-jetstream-copy-'));
    await cp(this.folder, backup, { recursive: true });
    return async () => {
      await this.empty();
      await cp(backup, this.folder, { recursive: true });
      await rm(backup, { recursive: true });
    };
  }

  /** Deletes the data. The server must be down. */
  empty(): Promise<void> {
    return rm(join(this.folder, 'jetstream'), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.nats.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async with<T>(work: (streams: Awaited<ReturnType<typeof jetstreamManager>>['streams']) => Promise<T>): Promise<T> {
    const connection = await connect({ servers: this.nats.url, tls: null, ...this.access });
    try {
      return await work((await jetstreamManager(connection)).streams);
    } finally {
      await connection.close();
    }
  }

  addStream(config: Partial<StreamConfig> = {}): Promise<unknown> {
    return this.with((streams) => streams.add({ name: 'EVENTS', subjects: ['shop.events.>'], ...config }));
  }

  /** All messages of the stream, in order. */
  messages(): Promise<Stored[]> {
    return this.with(async (streams) => {
      const { state } = await streams.info('EVENTS');
      const numbers = Array.from({ length: state.messages === 0 ? 0 : state.last_seq - state.first_seq + 1 }, (_, n) => state.first_seq + n);
      const found = await Promise.all(numbers.map((seq) => streams.getMessage('EVENTS', { seq })));
      return found.filter((one): one is StoredMsg => one !== null).map((one) => ({
        id: one.header.get('Nats-Msg-Id'),
        subject: one.subject,
        header: (name) => one.header.get(name),
        body: new TextDecoder().decode(one.data),
      }));
    });
  }

  /** The ids of messages, without repetitions. */
  async ids(): Promise<string[]> {
    return [...new Set((await this.messages()).map(({ id }) => id))];
  }
}

/** A shop without destinations yet, and a broker with the stream `EVENTS`. */
export class ExportShop {
  private constructor(
    readonly shop: Shop,
    readonly caller: TestCaller,
  ) {}

  static async open(): Promise<ExportShop> {
    const shop = await Shop.open();
    return new ExportShop(shop, await TestCaller.connect(shop.nats.url));
  }

  async close(): Promise<void> {
    await this.caller.close();
    await this.shop.close();
  }

  async reset(): Promise<void> {
    await this.shop.reset();
    await this.shop.sql.query('TRUNCATE destinations');
  }

  start(variables: Record<string, string> = {}): Promise<Replica> {
    return this.shop.start({ DESTINATION_ALLOWED_TARGETS: '127.0.0.1:*', ...variables });
  }

  /** Replaces the settings of a destination. */
  replace({ id, name, url, stream }: Destination, given: Partial<DestinationReplacement>): Promise<Destination> {
    return this.caller.call(notifications.replaceDestination, { destinationId: id, destination: { name, url, stream, ...given } }, admin);
  }

  create(broker: TestBroker, given: Partial<NewDestination> = {}): Promise<Destination> {
    return this.caller.call(notifications.createDestination, { destination: { name: 'Warehouse', url: broker.nats.url, stream: 'EVENTS', ...given } }, admin);
  }

  async get({ id }: Destination): Promise<Destination> {
    return this.caller.call(notifications.getDestination, { destinationId: id }, admin);
  }

  /** @param detail of the hold */
  async isHeld(destination: Destination, reason: string, detail = /./): Promise<void> {
    let last: Destination | undefined;
    await until(async () => {
      last = await this.get(destination);
      return last.held?.reason === reason && detail.test(last.held.detail);
    }, 15_000).catch((error: unknown) => {
      throw new Error(`not held for ${reason}: ${JSON.stringify(last)}`, { cause: error });
    });
  }

  /** Waits until the destination has looked at the whole log, and nothing holds it. */
  async isUpToDate(destination: Destination): Promise<void> {
    let last: Destination | undefined;
    await this.shop.isLogged();
    await until(async () => {
      last = await this.get(destination);
      return last.behindEvents === 0 && !last.held;
    }, 40_000).catch((error: unknown) => {
      throw new Error(`not up to date: ${JSON.stringify(last)}`, { cause: error });
    });
  }
}
