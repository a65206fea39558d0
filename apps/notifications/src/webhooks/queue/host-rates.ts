import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { queueNow } from './queue-clock.js';

/** What one host, of any endpoints and owners, may be sent. The rows of `webhook_hosts` are shared by all replicas. */
export interface HostState {
  readonly host: string;
  /** Posts a second. */
  readonly rate: number;
  /** Posts that may begin now. */
  readonly tokens: number;
  /** Seconds since the counting of results began. */
  readonly countedSeconds: number;
  /** Results counted since then: 2xx within a second, and others. */
  readonly good: number;
  readonly bad: number;
}

/** What an endpoint asks for. */
interface Asking {
  readonly webhookId: string;
  readonly ownerId: string;
  readonly host: string;
  readonly room: number;
}

/** What an endpoint gets. */
export interface Allowance {
  readonly room: number;
  /** How long the host's rate makes the endpoint wait, in milliseconds; undefined if it got all that it asked for. */
  readonly waitMs: number | undefined;
}

/** The most tokens that a host collects, in seconds of its rate. */
const burstSeconds = 0.2;
const goodMs = 1_000;
/** A host that was sent nothing for so long begins again. */
const idleSeconds = 60;
const maxRate = 1_000_000;
/** The least pause of an endpoint that waits for its host. */
const minWaitMs = 20;
const maxRemembered = 20_000;

/** Returns the state after results were added: once a second the rate is doubled, kept or halved, never below `base`. */
export function afterResults(state: HostState, { good, bad }: Pick<HostState, 'good' | 'bad'>, base: number): HostState & { readonly isNewCount: boolean } {
  const all = { ...state, good: state.good + good, bad: state.bad + bad };
  const count = all.good + all.bad;
  if (state.countedSeconds < 1) return { ...all, isNewCount: false };
  const rate = state.countedSeconds > idleSeconds ? base : all.bad > all.good ? state.rate / 2 : count >= state.rate / 2 ? state.rate * 2 : state.rate;
  return { ...all, rate: Math.min(maxRate, Math.max(base, rate)), good: 0, bad: 0, countedSeconds: 0, isNewCount: true };
}

/** Posts that a host may get at once. */
export const burstOf = (rate: number): number => Math.max(1, rate * burstSeconds);

/** The part of the rates that one replica knows: the results of its attempts, and which owners it served last. */
export class HostRates {
  private readonly results = new Map<string, { good: number; bad: number }>();
  /** When an owner was last served, by host and owner: a number that grows with each post. */
  private readonly served = new Map<string, number>();
  private posts = 0;

  /** Notes the result of an attempt. */
  note(host: string, { status, durationMs }: { readonly status?: number; readonly durationMs: number }): void {
    const result = this.results.get(host) ?? { good: 0, bad: 0 };
    if (status !== undefined && status >= 200 && status < 300 && durationMs <= goodMs) result.good++;
    else result.bad++;
    this.results.set(host, result);
  }

  /** Returns the results since the last call. */
  takeResults(host: string): { readonly good: number; readonly bad: number } {
    const result = this.results.get(host) ?? { good: 0, bad: 0 };
    this.results.delete(host);
    return result;
  }

  noteServed({ host, ownerId }: Pick<Asking, 'host' | 'ownerId'>, count: number): void {
    const key = `${host} ${ownerId}`;
    this.posts += count;
    this.served.delete(key);
    this.served.set(key, this.posts);
    const [oldest] = this.served.size > maxRemembered ? this.served.keys() : [];
    if (oldest !== undefined) this.served.delete(oldest);
  }

  /** Shares each host's tokens evenly among owners, those first that were served least recently, and then among an owner's endpoints. */
  allot(all: readonly Asking[], hosts: ReadonlyMap<string, HostState>): Map<string, Allowance> {
    const allowed = new Map<string, Allowance>();
    for (const [host, atHost] of Map.groupBy(all, (one) => one.host)) {
      const { tokens, rate } = hosts.get(host) ?? { tokens: 0, rate: 1 };
      const asking = this.inTurn(host, atHost);
      const rooms = share(asking, Math.floor(tokens));
      // Each owner's first endpoint asks again when the next token is there, so that one with many endpoints does not take it before.
      const left = tokens - [...rooms.values()].reduce((sum, room) => sum + room, 0);
      const waiting = new Map<string, number>();
      for (const { webhookId, ownerId, room } of asking) {
        const got = rooms.get(webhookId) ?? 0;
        const position = (waiting.get(ownerId) ?? 0) + 1;
        if (got < room) waiting.set(ownerId, position);
        allowed.set(webhookId, { room: got, waitMs: got < room ? Math.max(minWaitMs, (1_000 * (position - left)) / rate) : undefined });
      }
    }
    return allowed;
  }

  /** Each owner's first endpoint, then each one's second, and so on. */
  private inTurn(host: string, asking: readonly Asking[]): Asking[] {
    const owners = [...Map.groupBy(asking, ({ ownerId }) => ownerId)];
    const lastServed = (ownerId: string): number => this.served.get(`${host} ${ownerId}`) ?? 0;
    owners.sort(([a], [b]) => lastServed(a) - lastServed(b));
    const most = Math.max(0, ...owners.map(([, own]) => own.length));
    return Array.from({ length: most }, (_, n) => owners.flatMap(([, own]) => own[n] ?? [])).flat();
  }
}

/** Shares tokens among owners, and an owner's among its endpoints. @returns what each endpoint gets, by its id */
function share(asking: readonly Asking[], tokens: number): Map<string, number> {
  const owners = [...Map.groupBy(asking, ({ ownerId }) => ownerId).values()].map((own) => ({ own, room: own.reduce((sum, { room }) => sum + room, 0) }));
  return new Map([...evenly(owners, tokens)].flatMap(([{ own }, part]) => [...evenly(own, part)].map(([{ webhookId }, got]) => [webhookId, got] as const)));
}

/** Gives each the same, but none more than its room; the first get what whole shares leave over. */
function evenly<One extends { readonly room: number }>(all: readonly One[], total: number): Map<One, number> {
  const shares = new Map(all.map((one) => [one, 0]));
  const left = (one: One): number => one.room - (shares.get(one) ?? 0);
  for (let open = all, rest = total; rest > 0 && (open = open.filter((one) => left(one) > 0)).length > 0; ) {
    const each = Math.max(1, Math.floor(rest / open.length));
    for (const one of open) {
      const more = Math.min(each, left(one), rest);
      shares.set(one, (shares.get(one) ?? 0) + more);
      rest -= more;
    }
  }
  return shares;
}

const add: Statement = {
  name: 'webhooks-add-hosts',
  text: `INSERT INTO webhook_hosts (host, rate, tokens, tokens_at, counted_at)
    SELECT host, $2, $3, ${queueNow}, ${queueNow} FROM unnest($1::text[]) AS t (host) ORDER BY host ON CONFLICT DO NOTHING`,
};

const lock: Statement = {
  name: 'webhooks-lock-hosts',
  text: `SELECT host, rate, tokens + greatest(0, extract(epoch FROM ${queueNow} - tokens_at)::float8) * rate AS tokens,
      extract(epoch FROM ${queueNow} - counted_at)::float8 AS "countedSeconds", good, bad
    FROM webhook_hosts WHERE host = ANY($1) ORDER BY host FOR NO KEY UPDATE`,
};

/** Locks hosts until the transaction ends. Call it before deliveries are claimed: queues are locked after hosts. */
export async function lockHosts(tx: Transaction, hosts: readonly string[], base: number): Promise<HostState[]> {
  const found = await tx.query<HostState>(lock, [hosts]);
  if (found.length === hosts.length) return found;
  await tx.execute(add, [hosts, base, burstOf(base)]);
  return tx.query<HostState>(lock, [hosts]);
}

const save: Statement = {
  name: 'webhooks-save-hosts',
  text: `UPDATE webhook_hosts h SET rate = t.rate, tokens = t.tokens, tokens_at = ${queueNow}, good = t.good, bad = t.bad,
      counted_at = CASE WHEN t.is_new THEN ${queueNow} ELSE h.counted_at END
    FROM unnest($1::text[], $2::float8[], $3::float8[], $4::integer[], $5::integer[], $6::boolean[]) AS t (host, rate, tokens, good, bad, is_new)
    WHERE h.host = t.host`,
};

export function saveHosts(tx: Transaction, states: readonly (HostState & { readonly isNewCount: boolean })[]): void {
  tx.send(save, [
    states.map((one) => one.host),
    states.map((one) => one.rate),
    states.map((one) => one.tokens),
    states.map((one) => one.good),
    states.map((one) => one.bad),
    states.map((one) => one.isNewCount),
  ]);
}

/** Deletes hosts without endpoints. */
export function deleteUnusedHosts(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM webhook_hosts h WHERE NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.host = h.host)');
}
