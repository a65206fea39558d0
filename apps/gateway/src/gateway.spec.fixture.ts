import { catalog, type Plant } from '@plant-shop/contracts/catalog';
import { clientOperations } from '@plant-shop/contracts/client-operations';
import { identity } from '@plant-shop/contracts/identity';
import { type Order, store } from '@plant-shop/contracts/store';
import { DomainError } from '@plant-shop/contracts/errors';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { readinessOf } from '@plant-shop/platform/service/readiness';
import type { Service } from '@plant-shop/platform/service/service';
import { FakeIdentity } from '@plant-shop/service-testing/identity';
import { type Fake, fake, startFake, startService } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import type { GatewayOptions } from './config.js';
import { type Gateway, startGateway } from './start.js';

// The gateway over real NATS, with fake services behind it. Payloads are validated by the contracts.

export { digestOf, userId } from '@plant-shop/service-testing/identity';
export const publicUrl = 'https://plants.example';

/** A call to a fake service. */
interface RecordedCall {
  readonly operation: string;
  readonly payload: unknown;
  readonly context: RpcContext;
}

export interface Shop {
  readonly nats: TestNats;
  readonly gateway: Gateway;
  readonly service: Service;
  readonly identity: FakeIdentity;
  readonly calls: RecordedCall[];
  stopFake(service: string): Promise<void>;
  restartFake(service: string): Promise<void>;
  /** Starts other fakes in place of a stopped service. */
  replaceFake(service: string, fakes: readonly Fake[]): Promise<void>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  send(method: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  stop(): Promise<void>;
}

type FakesByService = Readonly<Record<string, readonly Fake[]>>;

export async function startShop(own: FakesByService = {}, options: Partial<GatewayOptions> = {}): Promise<Shop> {
  const nats = await startNats();
  const fakeIdentity = new FakeIdentity();
  const calls: RecordedCall[] = [];
  const fakes: Record<string, readonly Fake[]> = {
    catalog: [],
    store: [],
    notifications: [],
    ...own,
    identity: [...fakeIdentity.fakes(), ...(own['identity'] ?? [])],
  };
  const running = new Map<string, { stop: () => Promise<void> }>();
  const start = async (service: string): Promise<void> => {
    const all = [fake(readinessOf(service), () => ({ ready: true, checks: {} })), ...(fakes[service] ?? [])];
    running.set(service, await startFake(nats.url, service, all.map((one) => recorded(one, calls))));
  };
  for (const service of Object.keys(fakes)) await start(service);
  const { gateway, service } = await startReplica(nats, options);
  const { url } = gateway;
  // Until the gateway has read the revocations it refuses credentials with 503.
  await until(async () => (await service.readiness.report()).ready);
  return {
    nats,
    gateway,
    service,
    identity: fakeIdentity,
    calls,
    stopFake: async (name) => {
      await running.get(name)?.stop();
      running.delete(name);
    },
    restartFake: start,
    replaceFake: (name, others) => {
      fakes[name] = others;
      return start(name);
    },
    get: (path, headers = {}) => fetch(url + path, { headers, redirect: 'manual' }),
    send: (method, path, body, headers = {}) =>
      fetch(url + path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      }),
    stop: async () => {
      await stopReplica({ gateway, service });
      for (const one of running.values()) await one.stop();
      await nats.stop();
    },
  };
}

export interface Replica {
  readonly gateway: Gateway;
  readonly service: Service;
}

/** Stops a gateway at the end of a test. Its clients leave first: their idle connections would prolong its announcement to 2 s. */
export async function stopReplica({ gateway, service }: Replica): Promise<void> {
  gateway.server.closeIdleConnections();
  await service.stop();
}

/** Starts a gateway on this NATS server. */
export async function startReplica(nats: TestNats, options: Partial<GatewayOptions> = {}): Promise<Replica> {
  const started = Promise.withResolvers<Gateway>();
  const service = await startService('gateway', nats.url, async (own) => {
    const gateway = await startGateway(own, {
      sandbox: false,
      host: '127.0.0.1',
      port: 0,
      publicUrl,
      identityHttpUrl: 'http://127.0.0.1:9',
      rateLimitPerMinute: 1_000_000,
      trustedProxies: [],
      corsOrigins: [],
      docsOAuthClient: '',
      consoleOAuthClient: 'plant-console',
      streamPublicUrl: 'wss://stream.example',
      maxInFlight: 5_000,
      clientInFlightShare: 50,
      silentConnections: 64,
      maxBodyMib: 128,
      readCacheMib: 64,
      requestTimeoutMs: 120_000,
      requestBudgetMs: 2_000,
      ...options,
    });
    started.resolve(gateway);
  });
  return { gateway: await started.promise, service };
}

function recorded({ operation, answer }: Fake, calls: RecordedCall[]): Fake {
  return {
    operation,
    answer: (payload: never, context: RpcContext): unknown => {
      calls.push({ operation: operation.pattern, payload, context });
      return answer(payload, context);
    },
  };
}

const fern: Plant = { id: 1, name: 'Fern', photoUrls: [], tags: [], status: 'available', updatedAt: '2026-01-01T00:00:00.000Z' };
const placed: Order = { id: 1, plantId: 1, quantity: 1, status: 'placed', complete: false, placedAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };

/** Fakes of all calls that clients cause: these, and others that answer their samples. */
const fakesOf = (service: string, own: readonly Fake[]): Fake[] => {
  const called = new Map(clientOperations.flatMap(({ calls }) => calls).map((call) => [call.pattern, fake(call)]));
  for (const one of own) called.set(one.operation.pattern, one);
  return [...called.values()].filter(({ operation }) => operation.service === service);
};

/** Fakes of all operations of clients. Some answer with the requested ids and the sent fields. */
export const echoes: FakesByService = {
  catalog: fakesOf('catalog', [
    fake(catalog.createPlant, ({ plant }) => ({ ...fern, name: plant.name })),
    fake(catalog.getPlant, ({ plantId }) => ({ ...fern, id: plantId })),
    fake(catalog.importPlants, ({ lines }) => lines.map(() => ({ id: 1, result: 'created' as const }))),
    fake(catalog.previewImport, ({ lines }) => lines.map(() => ({ result: 'created' as const, after: { name: 'Fern', photoUrls: [], tags: [], status: 'available' as const } }))),
    fake(catalog.readExport, () => ({ plants: [fern] })),
    fake(catalog.replacePlant, ({ plant }) => ({ ...fern, id: plant.id, name: plant.name })),
    fake(catalog.changePlant, ({ plantId, name = fern.name, status = fern.status }) => ({ ...fern, id: plantId, name, status })),
    fake(catalog.deletePlant, ({ plantId }) => ({ plantId })),
    fake(catalog.getImage, () => {
      throw new DomainError('image-not-found', 'There is no such image.');
    }),
  ]),
  store: fakesOf('store', [
    fake(store.placeOrder, ({ order }) => ({ ...placed, plantId: order.plantId })),
    fake(store.getOrder, ({ orderId }) => ({ ...placed, id: orderId })),
    fake(store.cancelOrder, ({ orderId }) => ({ ...placed, id: orderId, status: 'cancelled' })),
    fake(store.listOrders, () => [placed]),
    fake(store.readInventory, () => ({ available: 1, pending: 2, sold: 3 })),
    fake(store.getStock, ({ plantId }) => ({ plantId, free: 1, reserved: 2, sold: 3 })),
    fake(store.setStock, ({ plantId, stock }) => ({ plantId, free: stock.free, reserved: 2, sold: 3 })),
  ]),
  identity: fakesOf('identity', [
    fake(identity.createUser, ({ user }) => ({ id: 1, username: user.username })),
    fake(identity.createUsers, ({ users }) => users.map(({ username }, id) => ({ id, username }))),
    fake(identity.getUser, ({ username }) => ({ id: 1, username })),
    fake(identity.updateUser, ({ username }) => ({ id: 1, username })),
    fake(identity.deleteUser, ({ username }) => ({ username })),
    fake(identity.resolveUserIds),
  ]),
  notifications: fakesOf('notifications', []),
};
