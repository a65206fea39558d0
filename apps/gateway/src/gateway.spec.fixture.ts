import { createHash } from 'node:crypto';
import { catalog, type Plant } from '@plant-shop/contracts/catalog';
import { identity, type Revocation } from '@plant-shop/contracts/identity';
import { type CredentialKind, type Permission, permissions } from '@plant-shop/contracts/permissions';
import { notifications } from '@plant-shop/contracts/notifications';
import { type Order, store } from '@plant-shop/contracts/store';
import { DomainError } from '@plant-shop/contracts/errors';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { readinessOf } from '@plant-shop/platform/service/readiness.contract';
import type { Service } from '@plant-shop/platform/service/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { type Fake, fake, startFake, startService } from '@plant-shop/testing/service';
import type { GatewayOptions } from './options.js';
import { type Gateway, startGateway } from './start.js';

// The gateway over real NATS; the services behind it are made up, with the contract's payloads validated.

export const publicUrl = 'https://plants.example';
export const userId = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

interface KnownCredential {
  readonly kind: CredentialKind;
  readonly id: string;
  readonly userId: string;
  readonly permissions: readonly Permission[];
  readonly expiresAt?: string;
}

/** What a service was asked, in order. */
export interface Asked {
  readonly operation: string;
  readonly payload: unknown;
  readonly context: RpcContext;
}

/** Identity as the gateway sees it: credentials by digest, and a numbered log of what was revoked. */
export class FakeIdentity {
  readonly credentials = new Map<string, KnownCredential>();
  readonly subjects = new Map<string, readonly Permission[]>();
  readonly log: Revocation[] = [];
  signingKeys: readonly Readonly<Record<string, unknown>>[] = [];
  checks = 0;
  private known = 0;
  /** While set, pulls of the log get no answer. */
  isSilent = false;
  /** How far its clock is ahead of the gateway's. */
  aheadMs = 0;

  /** By its own clock, in milliseconds since the epoch. */
  time(): number {
    return Date.now() + this.aheadMs;
  }

  know(secret: string, credential: Partial<KnownCredential> & { readonly kind: CredentialKind }): void {
    const id = this.credentials.get(digestOf(secret))?.id ?? userId(900 + ++this.known);
    this.credentials.set(digestOf(secret), { id, userId: userId(1), permissions, ...credential });
  }

  revoke(kind: Revocation['kind'], id: string): void {
    this.log.push({ position: this.log.length + 1, kind, id });
    for (const [digest, credential] of this.credentials) {
      if (credential.id === id || credential.userId === id) this.credentials.delete(digest);
    }
    this.subjects.delete(id);
  }

  /** What the user's credentials lead to is another thing from now on. */
  change(userId: string, now: Pick<KnownCredential, 'permissions' | 'expiresAt'>): void {
    for (const [digest, credential] of this.credentials) {
      if (credential.userId === userId) this.credentials.set(digest, { ...credential, ...now });
    }
    this.subjects.set(userId, now.permissions);
    this.log.push({ position: this.log.length + 1, kind: 'userChanged', id: userId });
  }

  /** The session's or key's id, for `revoke`. */
  idOf(secret: string): string {
    const known = this.credentials.get(digestOf(secret));
    if (!known) throw new Error(`${secret} is not known`);
    return known.id;
  }

  fakes(): Fake[] {
    return [
      fake(identity.checkCredential, ({ digest, kind }) => {
        this.checks++;
        const known = this.credentials.get(digest);
        const isLive = known?.expiresAt === undefined || Date.parse(known.expiresAt) > this.time();
        if (known?.kind !== kind || !isLive) throw new DomainError('credential-refused', 'The credential is not valid.');
        return { ...known, position: this.log.length };
      }),
      fake(identity.resolveSubject, (payload) => {
        const known = this.subjects.get(payload.userId);
        if (!known) throw new DomainError('credential-refused', 'The user is gone.');
        return { permissions: [...known], position: this.log.length };
      }),
      fake(identity.readRevocations, async ({ after }) => {
        while (this.isSilent) await new Promise((resolve) => setTimeout(resolve, 20));
        return { head: this.log.length, entries: this.log.slice(after, after + 1_000), time: this.time() };
      }),
      fake(identity.readSigningKeys, () => ({ keys: this.signingKeys })),
    ];
  }
}

export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

export interface Shop {
  readonly nats: TestNats;
  readonly gateway: Gateway;
  readonly service: Service;
  readonly identity: FakeIdentity;
  readonly asked: Asked[];
  /** Takes a service away and brings it back. */
  stopFake(service: string): Promise<void>;
  restartFake(service: string): Promise<void>;
  /** Instead of one that was taken away, another that answers this. */
  replaceFake(service: string, answers: readonly Fake[]): Promise<void>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  send(method: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  stop(): Promise<void>;
}

type Answers = Readonly<Record<string, readonly Fake[]>>;

export async function startShop(answers: Answers = {}, options: Partial<GatewayOptions> = {}): Promise<Shop> {
  const nats = await startNats();
  const known = new FakeIdentity();
  const asked: Asked[] = [];
  const fakes: Record<string, readonly Fake[]> = { catalog: [], store: [], notifications: [], ...answers, identity: [...known.fakes(), ...(answers['identity'] ?? [])] };
  const running = new Map<string, { stop: () => Promise<void> }>();
  const start = async (service: string): Promise<void> => {
    const own = [fake(readinessOf(service), () => ({ ready: true, checks: {} })), ...(fakes[service] ?? [])];
    running.set(service, await startFake(nats.url, service, own.map((one) => recorded(one, asked))));
  };
  for (const service of Object.keys(fakes)) await start(service);
  const { gateway, service } = await startReplica(nats, options);
  const { url } = gateway;
  return {
    nats,
    gateway,
    service,
    identity: known,
    asked,
    stopFake: async (name) => {
      await running.get(name)?.stop();
      running.delete(name);
    },
    restartFake: start,
    replaceFake: (name, own) => {
      fakes[name] = own;
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
      await service.stop();
      for (const one of running.values()) await one.stop();
      await nats.stop();
    },
  };
}

/** A gateway on this NATS server, beside others or alone. */
export async function startReplica(
  nats: TestNats,
  options: Partial<GatewayOptions> = {},
): Promise<{ readonly gateway: Gateway; readonly service: Service }> {
  const started = Promise.withResolvers<Gateway>();
  const service = await startService('gateway', nats.url, async (own) => {
    const gateway = await startGateway(own, {
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

function recorded({ operation, answer }: Fake, asked: Asked[]): Fake {
  return {
    operation,
    answer: (payload: never, context: RpcContext): unknown => {
      asked.push({ operation: operation.pattern, payload, context });
      return answer(payload, context);
    },
  };
}

const fern: Plant = { id: 1, name: 'Fern', photoUrls: [], tags: [], status: 'available' };
const refund = { id: 3, orderId: 7, status: 'due', paymentReference: 'p', dueAt: '2026-05-01T08:15:30.123Z' } as const;
const placed: Order = { id: 1, plantId: 1, quantity: 1, status: 'placed', complete: false };

/** Plants and orders that answer what they were asked; webhooks answer their samples. */
export const echoes: Answers = {
  catalog: [
    fake(catalog.createPlant, ({ plant }) => ({ ...fern, name: plant.name })),
    fake(catalog.getPlant, ({ plantId }) => ({ ...fern, id: plantId })),
    fake(catalog.findPlantsByStatus, () => []),
    fake(catalog.findPlantsByTags, () => []),
    fake(catalog.searchPlants, () => []),
    fake(catalog.getPlantFacets, () => ({ plants: 0, complete: true, status: [], tags: [], category: [] })),
    fake(catalog.importPlants, ({ lines }) => lines.map(() => ({ id: 1, result: 'created' as const }))),
    fake(catalog.beginExport),
    fake(catalog.readExport, () => ({ plants: [fern] })),
    fake(catalog.endExport),
    fake(catalog.replacePlant, ({ plant }) => ({ ...fern, id: plant.id, name: plant.name })),
    fake(catalog.changePlant, ({ plantId, name = fern.name, status = fern.status }) => ({ ...fern, id: plantId, name, status })),
    fake(catalog.deletePlant, ({ plantId }) => ({ plantId })),
    fake(catalog.getImage, () => {
      throw new DomainError('image-not-found', 'There is no such image.');
    }),
  ],
  store: [
    fake(store.placeOrder, ({ order }) => ({ ...placed, plantId: order.plantId })),
    fake(store.getOrder, ({ orderId }) => ({ ...placed, id: orderId })),
    fake(store.cancelOrder, ({ orderId }) => ({ ...placed, id: orderId, status: 'cancelled' })),
    fake(store.listOrders, () => [placed]),
    fake(store.getTimeline, () => []),
    fake(store.transferOrder, ({ orderId }) => ({ ...placed, id: orderId })),
    fake(store.reportPayment, ({ orderId }) => ({ ...placed, id: orderId, status: 'approved' })),
    fake(store.listRefunds, () => [refund]),
    fake(store.getRefund, ({ refundId }) => ({ ...refund, id: refundId })),
    fake(store.completeRefund, ({ refundId, completion }) => ({ ...refund, id: refundId, status: 'completed' as const, reference: completion.reference })),
    fake(store.shipOrder, ({ orderId }) => ({ ...placed, id: orderId, status: 'approved' })),
    fake(store.deliverOrder, ({ orderId }) => ({ ...placed, id: orderId, status: 'delivered', complete: true })),
    fake(store.readInventory, () => ({ available: 1, pending: 2, sold: 3 })),
    fake(store.getStock, ({ plantId }) => ({ plantId, free: 1, reserved: 2, sold: 3 })),
    fake(store.setStock, ({ plantId, stock }) => ({ plantId, free: stock.free, reserved: 2, sold: 3 })),
  ],
  identity: [
    fake(identity.createUser, ({ user }) => ({ id: 1, username: user.username })),
    fake(identity.createUsers, ({ users }) => users.map(({ username }, id) => ({ id, username }))),
    fake(identity.getUser, ({ username }) => ({ id: 1, username })),
    fake(identity.listUsers, () => [{ id: 1, username: 'a', role: 'staff' as const }]),
    fake(identity.setUserRole, ({ username, assignment }) => ({ id: 1, username, role: assignment.role })),
    fake(identity.updateUser, ({ username }) => ({ id: 1, username })),
    fake(identity.deleteUser, ({ username }) => ({ username })),
  ],
  notifications: Object.values<Operation<object, unknown>>(notifications).map((one) => fake(one)),
};
