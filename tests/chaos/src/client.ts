import { now } from './clock.js';
import type { Answered, Ask, Call, OrderStatus } from './history.js';

export interface Credential {
  readonly apiKey?: string;
  readonly bearer?: string;
}

/** The demo data's key, which may do everything. */
export const staffKey: Credential = { apiKey: 'special-key' };

interface Request {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly key?: string | undefined;
}

interface Body {
  readonly id?: number;
  readonly status?: unknown;
  readonly code?: string;
  readonly name?: string;
}

export interface Outcome<B = unknown> {
  readonly call: Call;
  readonly body: B | undefined;
}

/** Longer than any answer may take: what takes longer counts as lost. */
const patienceMs = 30_000;

/** Somebody who uses the shop by HTTP; everything that is asked and answered goes into the record. */
export class Client {
  constructor(
    readonly name: string,
    private readonly url: string,
    private readonly record: (call: Call) => unknown,
    private readonly credential: Credential,
  ) {}

  place(order: { plantId: number; quantity: number; id?: number }, key?: string): Promise<Outcome<Body>> {
    const { plantId, quantity, id } = order;
    const ask: Ask = { kind: 'place', plantId, quantity, ...(id !== undefined && { orderId: id }), ...(key !== undefined && { key }) };
    return this.send(ask, { method: 'POST', path: '/v3/store/order', json: order, key });
  }

  cancel(orderId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'cancel', orderId }, { method: 'DELETE', path: `/v3/store/order/${orderId}` });
  }

  read(orderId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'read', orderId }, { method: 'GET', path: `/v3/store/order/${orderId}` });
  }

  pay(orderId: number, reference: string): Promise<Outcome<Body>> {
    const json = { outcome: 'succeeded', reference };
    return this.send({ kind: 'pay', orderId, reference }, { method: 'POST', path: `/v3/store/order/${orderId}/payment`, json });
  }

  deliver(orderId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'deliver', orderId }, { method: 'POST', path: `/v3/store/order/${orderId}/delivery` });
  }

  inventory(): Promise<Outcome<Readonly<Record<string, number>>>> {
    return this.send({ kind: 'inventory' }, { method: 'GET', path: '/v3/store/inventory' });
  }

  /** Gives a plant the name `#<value>`. */
  rename(plantId: number, value: number): Promise<Outcome> {
    return this.send({ kind: 'write', name: `plant ${plantId}`, value }, { method: 'POST', path: `/v3/plant/${plantId}`, form: { name: `#${value}` } });
  }

  lookAt(plantId: number): Promise<Outcome<Body>> {
    return this.send({ kind: 'look', name: `plant ${plantId}` }, { method: 'GET', path: `/v3/plant/${plantId}` });
  }

  /** The plant as it is in a list. */
  lookFor(plantId: number, tag: string): Promise<Outcome<readonly Body[]>> {
    return this.send({ kind: 'look', name: `plant ${plantId}` }, { method: 'GET', path: `/v3/plant/findByTags?tags=${tag}` });
  }

  other<B>(method: string, path: string, json?: unknown): Promise<Outcome<B>> {
    return this.send({ kind: 'other', what: `${method} ${path.split('?')[0] ?? ''}` }, { method, path, json });
  }

  private async send<B>(ask: Ask, { method, path, json, form, key }: Request): Promise<Outcome<B>> {
    const { apiKey, bearer } = this.credential;
    const from = now();
    const done = (answer: Answered | 'lost', body: B | undefined, why?: string): Outcome<B> => {
      const call: Call = { client: this.name, ask, from, to: now(), answer, ...(why !== undefined && { why }) };
      this.record(call);
      return { call, body };
    };
    try {
      const response = await fetch(this.url + path, {
        method,
        headers: {
          ...(apiKey !== undefined && { api_key: apiKey }),
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        ...(form !== undefined && { body: new URLSearchParams(form).toString() }),
        signal: AbortSignal.timeout(patienceMs),
      });
      const text = await response.text();
      const body: unknown = /[/+]json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : undefined;
      return done(answered(ask, response, body), body as B);
    } catch (error) {
      return done('lost', undefined, `${String(error)}: ${String((error as Error).cause)}`);
    }
  }
}

function answered(ask: Ask, { status, headers }: Response, body: unknown): Answered {
  const { id, status: state, code } = (body ?? {}) as Body;
  const base = {
    status,
    ...(code !== undefined && { code }),
    hasRetryAfter: headers.has('retry-after'),
    isReplayed: headers.get('idempotency-replayed') === 'true',
  };
  if (status !== 200) return base;
  if (ask.kind === 'look') return { ...base, value: valueOf(ask.name, body) };
  if (ask.kind === 'inventory') return { ...base, units: Object.values(body as Record<string, number>).reduce((sum, one) => sum + one, 0) };
  if (ask.kind === 'write' || ask.kind === 'other' || id === undefined) return base;
  const version = /^"(\d+)"$/.exec(headers.get('etag') ?? '')?.[1];
  return { ...base, order: { id, status: state as OrderStatus, ...(version !== undefined && { version: Number(version) }) } };
}

/** The number that a plant has for its name, alone or in a list. */
function valueOf(name: string, body: unknown): number {
  const plants = (Array.isArray(body) ? body : [body]) as Body[];
  return Number(plants.find(({ id }) => name === `plant ${String(id)}`)?.name?.slice(1) ?? NaN) || 0;
}
