import { createHash, randomUUID } from 'node:crypto';
import { contentOf, type Credentials, request as sendRequest, type RequestOptions } from '@plant-shop/testing/http';
import { now } from './clock.js';
import { type Answered, type ShopRequest, type Call, isDone, keyOfRequest, type OrderStatus, type Resource } from './history.js';

/** The API key of the demo data; it has every permission. */
export const staffKey = { apiKey: 'special-key' };

interface HttpRequest extends Pick<RequestOptions, 'json' | 'form'> {
  readonly method: string;
  readonly path: string;
  /** Instead of the client's own. */
  readonly as?: Credentials;
}

interface Body {
  readonly id?: number;
  readonly status?: unknown;
  readonly code?: string;
  readonly name?: string;
}

interface BasketOrder {
  readonly id: number;
  readonly status: OrderStatus;
}

/** A basket, or the problem that refused a request about it. */
interface BasketBody {
  readonly id?: number;
  /** In a problem: the ids of those at fault. */
  readonly orders?: readonly (BasketOrder | number)[];
  /** In a problem: those at fault. */
  readonly lines?: readonly { readonly pointer: string }[];
}

export interface PlacedBasket {
  readonly id: number;
  readonly mark: string;
  readonly orderIds: readonly number[];
}

export interface Outcome<B = unknown> {
  readonly call: Call;
  readonly body: B | undefined;
}

/** Longer than any allowed deadline; a slower answer counts as lost. */
const requestTimeoutMs = 30_000;

/** Makes request ids unique across processes. */
const requestIdPrefix = `chaos-${randomUUID()}`;
let requestsSent = 0;

/** A user of the HTTP API. Records every request and its answer. */
export class Client {
  constructor(
    readonly name: string,
    private readonly url: string,
    private readonly record: (call: Call) => unknown,
    private readonly credentials: Credentials,
  ) {}

  place(order: { plantId: number; quantity: number; id?: number }, key?: string): Promise<Outcome<Body>> {
    const { plantId, quantity, id } = order;
    const request: ShopRequest = { kind: 'place', plantId, quantity, ...(id !== undefined && { orderId: id }), ...withKey(key) };
    return this.send(request, { method: 'POST', path: '/v3/store/order', json: order });
  }

  /** @returns the basket if it was placed */
  async placeBasket(lines: readonly { plantId: number; quantity: number }[], mark: string, key?: string): Promise<Outcome<BasketBody> & { readonly basket?: PlacedBasket }> {
    const request: ShopRequest = { kind: 'other', what: 'place basket', ...withKey(key) };
    const outcome = await this.send<BasketBody>(request, { method: 'POST', path: '/v3/store/basket', json: { lines, externalId: mark } }, (call, body) =>
      lines.map((line, n) => {
        const isRefused = body?.lines?.some(({ pointer }) => pointer === `/lines/${n}`) ?? false;
        // The lines of a plant are refused together.
        const quantity = isRefused ? lines.reduce((sum, one) => sum + (one.plantId === line.plantId ? one.quantity : 0), 0) : line.quantity;
        const wanted: ShopRequest = { kind: 'place', plantId: line.plantId, quantity, basket: { mark, lines: lines.length }, ...withKey(key && `${key}#${n}`) };
        return lineOf(call, wanted, ordersIn(body)[n], isRefused);
      }));
    const id = isDone(outcome.call) ? outcome.body?.id : undefined;
    return { ...outcome, ...(id !== undefined && { basket: { id, mark, orderIds: ordersIn(outcome.body).map((order) => order.id) } }) };
  }

  cancelBasket(basket: PlacedBasket): Promise<Outcome<BasketBody>> {
    const request: ShopRequest = { kind: 'other', what: 'cancel basket' };
    return this.send<BasketBody>(request, { method: 'DELETE', path: `/v3/store/basket/${basket.id}` }, ordersOf(basket, (orderId, of) => ({ kind: 'cancel', orderId, basket: of })));
  }

  payBasket(basket: PlacedBasket, reference: string, { outcome = 'succeeded', key }: { outcome?: 'succeeded' | 'failed'; key?: string } = {}): Promise<Outcome<BasketBody>> {
    const request: ShopRequest = { kind: 'other', what: 'pay basket', ...withKey(key) };
    const http = { method: 'POST', path: `/v3/store/basket/${basket.id}/payment`, json: { outcome, reference } };
    return this.send<BasketBody>(request, http, ordersOf(basket, (orderId, of, n) => ({ kind: 'pay', orderId, reference, outcome, basket: of, ...withKey(key && `${key}#${n}`) })));
  }

  readBasket({ id }: PlacedBasket): Promise<Outcome<BasketBody>> {
    return this.send({ kind: 'other', what: 'read basket' }, { method: 'GET', path: `/v3/store/basket/${id}` });
  }

  cancel(orderId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'cancel', orderId }, { method: 'DELETE', path: `/v3/store/order/${orderId}` });
  }

  read(orderId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'read', orderId }, { method: 'GET', path: `/v3/store/order/${orderId}` });
  }

  pay(orderId: number, reference: string, { outcome = 'succeeded', key }: { outcome?: 'succeeded' | 'failed'; key?: string } = {}): Promise<Outcome<Body>> {
    return this.send({ kind: 'pay', orderId, reference, outcome, ...withKey(key) }, { method: 'POST', path: `/v3/store/order/${orderId}/payment`, json: { outcome, reference } });
  }

  ship(orderId: number, key?: string): Promise<Outcome<Body>> {
    const json = { carrier: 'Chaos Cargo', trackingNumber: `C${orderId}` };
    return this.send({ kind: 'ship', orderId, ...withKey(key) }, { method: 'POST', path: `/v3/store/order/${orderId}/shipment`, json });
  }

  deliver(orderId: number, key?: string): Promise<Outcome<Body>> {
    return this.send({ kind: 'deliver', orderId, ...withKey(key) }, { method: 'POST', path: `/v3/store/order/${orderId}/delivery` });
  }

  /** @param to the new owner: name of the client and username */
  transfer(orderId: number, to: { name: string; username: string }, key?: string): Promise<Outcome<Body>> {
    const request: ShopRequest = { kind: 'transfer', orderId, to: to.name, ...withKey(key) };
    return this.send(request, { method: 'POST', path: `/v3/store/order/${orderId}/transfer`, json: { username: to.username } });
  }

  inventory(): Promise<Outcome<Readonly<Record<string, number>>>> {
    return this.send({ kind: 'inventory' }, { method: 'GET', path: '/v3/store/inventory' });
  }

  /** Renames a plant to `#<value>`. */
  rename(plantId: number, value: number, key?: string): Promise<Outcome> {
    const request: ShopRequest = { kind: 'write-name', name: `plant ${plantId}`, value, ...withKey(key) };
    return this.send(request, { method: 'POST', path: `/v3/plant/${plantId}`, form: { name: `#${value}` } });
  }

  readPlant(plantId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'read-name', name: `plant ${plantId}` }, { method: 'GET', path: `/v3/plant/${plantId}` });
  }

  /** Reads the plant from a list. */
  findPlant(plantId: number, tag: string): Promise<Outcome<readonly Body[]>> {
    return this.send({ kind: 'read-name', name: `plant ${plantId}` }, { method: 'GET', path: `/v3/plant/findByTags?tags=${tag}` });
  }

  create<B>(resource: Resource, mark: string, key: string, path: string, json: unknown): Promise<Outcome<B>> {
    return this.send({ kind: 'create', resource, mark, key }, { method: 'POST', path, json });
  }

  deletePlant(plantId: number): Promise<Outcome> {
    return this.send({ kind: 'delete-plant', plantId }, { method: 'DELETE', path: `/v3/plant/${plantId}` });
  }

  /** @param credentials names of the account's credentials */
  deleteUser(username: string, credentials: readonly string[] = []): Promise<Outcome> {
    return this.send({ kind: 'revoke', how: 'user', target: username, credentials }, { method: 'DELETE', path: `/v3/user/${username}` });
  }

  revokeApiKey(username: string, id: string, credential: string): Promise<Outcome> {
    const request: ShopRequest = { kind: 'revoke', how: 'api key', target: id, credentials: [credential] };
    return this.send(request, { method: 'DELETE', path: `/v3/user/${username}/apiKeys/${id}` });
  }

  logOut(credential: string): Promise<Outcome> {
    return this.send({ kind: 'revoke', how: 'session', target: credential, credentials: [credential] }, { method: 'GET', path: '/v3/user/logout' });
  }

  revokeToken(token: string, client: { clientId: string; secret: string }, credential: string): Promise<Outcome> {
    const request: ShopRequest = { kind: 'revoke', how: 'token', target: credential, credentials: [credential] };
    return this.send(request, { method: 'POST', path: '/oauth/revoke', form: { token }, as: { basic: [client.clientId, client.secret] } });
  }

  getToken({ clientId, secret }: { clientId: string; secret: string }): Promise<Outcome<{ access_token: string }>> {
    const form = { grant_type: 'client_credentials' };
    return this.send({ kind: 'other', what: 'POST /oauth/token' }, { method: 'POST', path: '/oauth/token', form, as: { basic: [clientId, secret] } });
  }

  /** Presents the credential in a request without effects. @param credential its name in the history */
  use(credential: string, at: string, path: string): Promise<Outcome> {
    return this.send({ kind: 'use', credential, at }, { method: 'GET', path });
  }

  other<B>(method: string, path: string, json?: unknown, key?: string): Promise<Outcome<B>> {
    return this.send({ kind: 'other', what: `${method} ${path.split('?')[0] ?? ''}`, ...withKey(key) }, { method, path, json });
  }

  /** @param callsOf returns what the history records of the call; by default itself */
  private async send<B>(
    request: ShopRequest,
    { method, path, as = this.credentials, json, form }: HttpRequest,
    callsOf: (call: Call, body: B | undefined) => readonly Call[] = (call) => [call],
  ): Promise<Outcome<B>> {
    const requestId = `${requestIdPrefix}-${++requestsSent}`;
    const key = keyOfRequest(request);
    const from = now();
    const done = (answer: Answered | 'lost', body: B | undefined, why?: string): Outcome<B> => {
      const call: Call = { client: this.name, request, from, to: now(), answer, requestId, ...(why !== undefined && { why }) };
      for (const one of callsOf(call, body)) this.record(one);
      return { call, body };
    };
    try {
      const headers = { 'x-request-id': requestId, ...(key !== undefined && { 'idempotency-key': key }) };
      const response = await sendRequest(method, this.url + path, { as, json, ...(form && { form }), headers, signal: AbortSignal.timeout(requestTimeoutMs) });
      const { text, json: body } = await contentOf(response);
      return done(answered(request, response, body, text), body as B);
    } catch (error) {
      return done('lost', undefined, `${String(error)}: ${String((error as Error).cause)}`);
    }
  }
}

const withKey = (key: string | undefined): { key?: string } => (key === undefined ? {} : { key });

const ordersIn = (body: BasketBody | undefined): BasketOrder[] => (body?.orders ?? []).filter((one) => typeof one === 'object');

/** Returns the call for one order of a basket. @param isAtFault whether the refusal of the basket names it */
function lineOf(call: Call, request: ShopRequest, order: BasketOrder | undefined, isAtFault: boolean): Call {
  const { answer } = call;
  if (answer === 'lost') return { ...call, request };
  const isRefused = answer.status === 404 || answer.status === 409;
  return {
    ...call,
    request,
    answer: { ...answer, ...(answer.status === 200 && order && { order: { id: order.id, status: order.status } }), ...(isRefused && !isAtFault && { code: 'another-order' }) },
  };
}

/** Returns a function that makes a call for each order of a basket. */
const ordersOf = ({ mark, orderIds }: PlacedBasket, requestOf: (orderId: number, basket: { mark: string; lines: number }, n: number) => ShopRequest) =>
  (call: Call, body: BasketBody | undefined): Call[] =>
    orderIds.map((orderId, n) => {
      const order = ordersIn(body).find(({ id }) => id === orderId);
      // A refused payment of a basket names no order: it is refused for all of them.
      const isAtFault = body?.orders?.includes(orderId) ?? true;
      return lineOf(call, requestOf(orderId, { mark, lines: orderIds.length }, n), order, isAtFault);
    });

function answered(request: ShopRequest, { status, headers }: Response, body: unknown, text: string): Answered {
  const { id, status: state, code } = (body ?? {}) as Body;
  const base = {
    status,
    ...(code !== undefined && { code }),
    hasRetryAfter: headers.has('retry-after'),
    isReplayed: headers.get('idempotency-replayed') === 'true',
    // A digest, because bodies can hold secrets and are only compared.
    ...(keyOfRequest(request) !== undefined && { body: createHash('sha256').update(text).digest('hex') }),
  };
  if (status !== 200) return base;
  if (request.kind === 'read-name') return { ...base, value: valueOf(request.name, body) };
  if (request.kind === 'inventory') return { ...base, units: Object.values(body as Record<string, number>).reduce((sum, one) => sum + one, 0) };
  if (!('orderId' in request) && request.kind !== 'place') return base;
  if (id === undefined) return base;
  const version = /^"(\d+)"$/.exec(headers.get('etag') ?? '')?.[1];
  return { ...base, order: { id, status: state as OrderStatus, ...(version !== undefined && { version: Number(version) }) } };
}

/** The number in the plant's name `#<value>`; `body` is the plant or a list that contains it. */
function valueOf(name: string, body: unknown): number {
  const plants = (Array.isArray(body) ? body : [body]) as Body[];
  return Number(plants.find(({ id }) => name === `plant ${String(id)}`)?.name?.slice(1) ?? NaN) || 0;
}
