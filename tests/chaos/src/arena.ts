import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createShop } from '@plant-shop/client';
import { backlogOf } from './backlog.js';
import { Balancer } from './balancer.js';
import { check } from './checks/check.js';
import type { Violation } from './checks/violation.js';
import { Client, type Credential, staffKey } from './client.js';
import { now, pause, until } from './clock.js';
import type { Consumer } from './consumer.js';
import { Databases } from './database.js';
import { Faults } from './faults.js';
import { longestRecovery } from './checks/work.js';
import { type Call, type Demands, eventTypes, type FinalState, type Follower, type History, isDone, type SeenEvent, type Snapshot } from './history.js';
import type { Random } from './random.js';
import { Receiver } from './receiver.js';
import { ResumingSocket } from './socket.js';
import { instancesOf, type Stack } from './stack.js';

/** The gateway's REQUEST_BUDGET_MS is its default. */
const usualDeadlineMs = 10_000 + 1_000;
const snapshotEveryMs = 300;
/** How long what a trial begins with is asked for. */
const patienceMs = 30_000;
/** A recovery that takes longer is worth a line. */
const slowRecoveryMs = 3_000;

/** A shop, and where to reach it. */
export interface Ground {
  readonly stack: Stack;
  readonly balancer: Balancer;
  readonly gatewayUrl: string;
  readonly streamUrls: readonly string[];
  readonly databases: Databases;
  /** Takes every webhook, and looks at none: for endpoints that customers make. */
  readonly sinkUrl: string;
  /** Address of the built client library, for programs. */
  readonly library: string;
  readonly say: (line: string) => void;
  close(): void;
}

export async function openGround(stack: Stack, say: (line: string) => void, library = import.meta.resolve('@plant-shop/client')): Promise<Ground> {
  const balancer = new Balancer(instancesOf(stack, 'gateway'));
  const gatewayUrl = await balancer.start();
  const streamUrls = instancesOf(stack, 'notifications').map(({ port }) => `ws://127.0.0.1:${port ?? 0}`);
  const sink = createServer((_, response) => response.writeHead(204).end());
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const sinkUrl = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/sink`;
  const close = (): void => {
    balancer.stop();
    sink.close();
    sink.closeAllConnections();
  };
  return { stack, balancer, gatewayUrl, streamUrls, databases: new Databases(() => stack.adminUrl), sinkUrl, library, say, close };
}

/** An account, and who uses it. */
export interface Customer {
  readonly username: string;
  readonly token: string;
  readonly client: Client;
}

/** What has no id is known by its body, which has the order, its change and the time. */
function identified({ name, types, events }: Follower, known: readonly SeenEvent[]): Follower {
  const ids = new Map(known.map(({ id, body }) => [body, id]));
  return { name, types, events: events.map(({ id, body }) => ({ id: id === '' ? (ids.get(body) ?? 'unknown') : id, body })) };
}

export interface Verdict {
  readonly history: History;
  readonly violations: readonly Violation[];
  /** The longest time from a fault's end to the last request that was not served, in milliseconds. */
  readonly recoveryMs: number | undefined;
}

/** How long what happened may take to arrive everywhere. */
export const settleLimitMs = 60_000;
/** Longer than any trial: an order that expired while a trial is judged would be in some of what is read, and not in the rest. */
export const usualTtlMs = 24 * 3_600_000;
/**
 * Of goals with faults. They wish for 5 s of recovery on a machine that does nothing else, and get thrice that; what was measured
 * is in docs/reliability.md.
 */
const usualDemands: Demands = { servedShare: 0.5, recoveryMs: 15_000 };

/** One trial: its plants, who watches, and the record of what happened, from `open` to `judge`. */
export class Arena {
  readonly faults: Faults;
  readonly calls: Call[] = [];
  readonly supplied = new Map<number, number | undefined>();
  clocks: History['clocks'] = { expireAfterMs: usualTtlMs };
  demands: Demands = usualDemands;
  deadlineMs = usualDeadlineMs;
  /** Clients whose accounts are deleted on the way. */
  readonly leavers = new Set<string>();
  readonly staff: Client;
  /** Sockets whose credentials are revoked on the way. */
  readonly guests: Follower[] = [];
  /** Programs that follow events; the trial waits for what they lack. */
  readonly consumers: Consumer[] = [];
  /** Names of clients by the names of their accounts. */
  private readonly accounts = new Map([['admin', 'staff']]);
  private readonly snapshots: Snapshot[] = [];
  private readonly webhooks: string[] = [];
  private looking = true;
  private readonly looks: Promise<void>;

  private constructor(
    readonly ground: Ground,
    readonly random: Random,
    readonly receivers: readonly Receiver[],
    readonly sockets: readonly ResumingSocket[],
  ) {
    this.faults = new Faults(ground.stack, ground.balancer, ground.say);
    this.staff = this.client('staff', staffKey);
    this.looks = this.lookAgainAndAgain();
  }

  static async open(ground: Ground, random: Random, { receivers = 2, sockets = 4 } = {}): Promise<Arena> {
    const listening = await Promise.all(Array.from({ length: sockets }, (_, n) => ResumingSocket.open(`socket ${n + 1}`, ground.streamUrls, n, n % 2 === 1 ? undefined : eventTypes)));
    const taking = await Promise.all(Array.from({ length: receivers }, (_, n) => Receiver.start(`receiver ${n + 1}`, random.fork(), n === 0 ? 0.02 : 0.1, n === 0 ? eventTypes : undefined)));
    const arena = new Arena(ground, random, taking, listening);
    for (const receiver of taking) {
      const { id, secret } = await arena.surely(() =>
        arena.staff.other<{ id: string; secret: string }>('POST', '/v3/webhooks', { url: receiver.url, ...(receiver.types && { eventTypes: receiver.types }) }));
      receiver.secret = secret;
      arena.webhooks.push(id);
    }
    return arena;
  }

  client(name: string, credential: Credential, url = this.ground.gatewayUrl): Client {
    return new Client(name, url, (call) => this.calls.push(call), credential);
  }

  /** A plant with so many units, which is this trial's. */
  async plant(quantity: number, tags: readonly string[] = [], stays = true): Promise<number> {
    const { id } = await this.surely(() =>
      this.staff.other<{ id: number }>('POST', '/v3/plant', { name: '#0', quantity, tags: tags.map((name) => ({ name })) }));
    this.supplied.set(id, stays ? quantity : undefined);
    return id;
  }

  /** A new user, logged in, who must be there before a trial begins. */
  async customer(name: string): Promise<Customer> {
    const end = now() + patienceMs;
    for (;;) {
      const customer = await this.newcomer(name);
      if (customer) return customer;
      if (now() > end) throw new Error(`nobody could be registered as ${name}`);
      await pause(100);
    }
  }

  /** Somebody who comes in the midst of it, and may be turned away: a new user, logged in. */
  async newcomer(name: string): Promise<Customer | undefined> {
    const password = 'a long enough password';
    const anybody = this.client(name, {});
    // Another name each time: the one before may be taken, though its answer was lost.
    const username = `${name}-${Math.round(now() * 1_000).toString(36)}`;
    const { call } = await anybody.other('POST', '/v3/user', { username, password });
    if (!isDone(call)) return undefined;
    const { call: login, body } = await anybody.other<{ message: string }>('GET', `/v3/user/login?username=${username}&password=${encodeURIComponent(password)}`);
    if (!isDone(login) || !body) return undefined;
    this.accounts.set(username, name);
    return { username, token: body.message, client: this.client(name, { bearer: body.message }) };
  }

  /** For what must be there before a trial begins: asked again while the shop comes to itself. */
  async surely<B>(ask: () => Promise<{ call: Call; body: B | undefined }>): Promise<B> {
    const end = now() + patienceMs;
    for (;;) {
      const { call, body } = await ask();
      if (isDone(call) && body !== undefined) return body;
      if (now() > end) throw new Error(`the shop did not answer 200: ${JSON.stringify(call)}`);
      await pause(100);
    }
  }

  /** As staff find them, page by page; and what kept them from it, in a shop that answers nothing any more. */
  private async refundsDue(): Promise<{ readonly found: FinalState['refundsDue']; readonly unread: readonly string[] }> {
    const shop = createShop({ url: this.ground.gatewayUrl, credential: { apiKey: staffKey.apiKey }, deadlineMs: patienceMs });
    const found: FinalState['refundsDue'][number][] = [];
    try {
      for await (const refund of shop.list('/store/refund', { status: 'due' })) found.push(refund);
    } catch (error) {
      return { found, unread: [`refunds could not be listed: ${String(error)}`] };
    }
    return { found, unread: [] };
  }

  /** Waits until everything that happened has arrived everywhere, closes the record, and judges it. */
  async judge(limitMs = settleLimitMs): Promise<Verdict> {
    for (const receiver of this.receivers) receiver.failing = 0;
    const unsettled = await this.settle(limitMs);
    this.looking = false;
    await this.looks;
    const plantIds = [...this.supplied.keys()];
    this.snapshots.push(await this.ground.databases.snapshot(plantIds));
    const final = await this.ground.databases.final(plantIds, this.accounts, this.calls);
    for (const follower of [...this.sockets, ...this.consumers]) follower.stop();
    const undeleted = await this.deleteWebhooks();
    for (const receiver of this.receivers) receiver.stop();
    const forged = this.receivers.filter((one) => one.forged > 0).map((one) => `${one.name} got ${one.forged} POSTs with a wrong signature`);
    const refunds = await this.refundsDue();
    const history: History = {
      calls: this.calls,
      snapshots: this.snapshots,
      final: { ...final, refundsDue: refunds.found, receivers: this.receivers, sockets: [...this.sockets, ...this.consumers.map((one) => identified(one, final.log))], guests: this.guests },
      supplied: this.supplied,
      leavers: this.leavers,
      clocks: this.clocks,
      // A process that is ended in order takes nothing from anybody.
      faults: this.faults.done.filter(({ fault }) => fault.kind !== 'roll'),
      demands: this.demands,
      gatewayFaults: this.faults.ofGateways,
      withoutGateway: this.faults.withoutGateway,
      deadlineMs: this.deadlineMs,
      unsettled: [...unsettled, ...undeleted, ...forged, ...refunds.unread],
    };
    const recovery = longestRecovery(this.calls, this.faults.done);
    if (recovery && recovery.ms > slowRecoveryMs) this.ground.say(`  longest recovery ${(recovery.ms / 1_000).toFixed(1)} s: ${recovery.what}`);
    return { history, violations: check(history), recoveryMs: recovery?.ms };
  }

  /** @returns what stays, in a shop that answers nothing any more */
  private async deleteWebhooks(): Promise<string[]> {
    const deleting = this.webhooks.map((id) => this.surely(() => this.staff.other('DELETE', `/v3/webhooks/${id}`)));
    return (await Promise.allSettled(deleting)).flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  }

  /** @returns what did not come to rest in time */
  private async settle(limitMs: number): Promise<string[]> {
    if (!(await this.faults.ready())) return ['not every process was ready again'];
    let why: string[] = ['nothing could be asked'];
    await until(async () => {
      try {
        why = await this.leftToDo();
      } catch (error) {
        why = [String(error)];
      }
      return why.length === 0;
    }, limitMs, 250);
    return why;
  }

  /** Whether all that happened is in the log and at every socket; webhooks may still be on their way. */
  async hasArrived(): Promise<boolean> {
    const left = await this.leftToDo(this.sockets).catch((error: unknown) => [String(error)]);
    return left.every((what) => what.includes('webhook'));
  }

  private async leftToDo(followers: readonly Follower[] = [...this.sockets, ...this.receivers]): Promise<string[]> {
    const { left, events } = await this.ground.databases.underWay([...this.supplied.keys()]);
    return backlogOf(left, [...followers, ...this.consumers.map((one) => identified(one, events))], events);
  }

  private async lookAgainAndAgain(): Promise<void> {
    while (this.looking) {
      try {
        const plantIds = [...this.supplied.keys()];
        if (plantIds.length > 0) this.snapshots.push(await this.ground.databases.snapshot(plantIds));
      } catch {
        // Postgres is away: what it holds is looked at when it is back.
      }
      await pause(snapshotEveryMs);
    }
  }

}
