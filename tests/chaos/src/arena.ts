import { Balancer } from './balancer.js';
import { check } from './checks/check.js';
import type { Violation } from './checks/violation.js';
import { Client, type Credential, staffKey } from './client.js';
import { now, pause, until } from './clock.js';
import { Databases } from './database.js';
import { Faults } from './faults.js';
import { type Call, type History, isAnswered, isDone, isServed, type Snapshot } from './history.js';
import type { Random } from './random.js';
import { Receiver } from './receiver.js';
import { ResumingSocket } from './socket.js';
import { instancesOf, type Stack } from './stack.js';

/** The gateway's REQUEST_BUDGET_MS is its default. */
const usualDeadlineMs = 10_000 + 1_000;
const snapshotEveryMs = 300;

/** A shop, and where to reach it. */
export interface Ground {
  readonly stack: Stack;
  readonly balancer: Balancer;
  readonly gatewayUrl: string;
  readonly streamUrls: readonly string[];
  readonly databases: Databases;
  readonly say: (line: string) => void;
}

export async function openGround(stack: Stack, say: (line: string) => void): Promise<Ground> {
  const balancer = new Balancer(instancesOf(stack, 'gateway'));
  const gatewayUrl = await balancer.start();
  const streamUrls = instancesOf(stack, 'notifications').map(({ port }) => `ws://127.0.0.1:${port ?? 0}`);
  return { stack, balancer, gatewayUrl, streamUrls, databases: new Databases(() => stack.adminUrl), say };
}

export interface Verdict {
  readonly history: History;
  readonly violations: readonly Violation[];
  /** The longest time from a fault's end to the last request that was not served, in milliseconds. */
  readonly recoveryMs: number | undefined;
}

/** How long what happened may take to arrive everywhere. */
export const settleLimitMs = 60_000;

/** One trial: its plants, who watches, and the record of what happened, from `open` to `judge`. */
export class Arena {
  readonly faults: Faults;
  readonly calls: Call[] = [];
  readonly supplied = new Map<number, number | undefined>();
  ordersExpire = false;
  deadlineMs = usualDeadlineMs;
  /** Clients whose accounts are deleted on the way. */
  readonly leavers = new Set<string>();
  readonly staff: Client;
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
    const listening = await Promise.all(Array.from({ length: sockets }, (_, n) => ResumingSocket.open(`socket ${n + 1}`, ground.streamUrls, n)));
    const taking = await Promise.all(Array.from({ length: receivers }, (_, n) => Receiver.start(`receiver ${n + 1}`, random.fork(), n === 0 ? 0.02 : 0.1)));
    const arena = new Arena(ground, random, taking, listening);
    for (const receiver of taking) {
      const { id, secret } = await arena.surely(() =>
        arena.staff.other<{ id: string; secret: string }>('POST', '/v3/webhooks', { url: receiver.url, eventTypes: ['order.status_changed'] }));
      receiver.secret = secret;
      arena.webhooks.push(id);
    }
    return arena;
  }

  client(name: string, credential: Credential): Client {
    return new Client(name, this.ground.gatewayUrl, (call) => this.calls.push(call), credential);
  }

  /** A plant with so many units, which is this trial's. */
  async plant(quantity: number, tags: readonly string[] = [], stays = true): Promise<number> {
    const { id } = await this.surely(() =>
      this.staff.other<{ id: number }>('POST', '/v3/plant', { name: '#0', quantity, tags: tags.map((name) => ({ name })) }));
    this.supplied.set(id, stays ? quantity : undefined);
    return id;
  }

  /** A new user, logged in. */
  async customer(name: string): Promise<{ readonly username: string; readonly token: string; readonly client: Client }> {
    const password = 'a long enough password';
    const anybody = this.client(name, {});
    // Another name each time: the one before may be taken, though its answer was lost.
    let username = '';
    await this.surely(() => {
      username = `${name}-${Math.round(now() * 1_000).toString(36)}`;
      return anybody.other('POST', '/v3/user', { username, password });
    });
    const { message } = await this.surely(() => anybody.other<{ message: string }>('GET', `/v3/user/login?username=${username}&password=${encodeURIComponent(password)}`));
    return { username, token: message, client: this.client(name, { bearer: message }) };
  }

  /** For what must be there before a trial begins: asked again while the shop comes to itself. */
  async surely<B>(ask: () => Promise<{ call: Call; body: B | undefined }>): Promise<B> {
    const end = now() + 30_000;
    for (;;) {
      const { call, body } = await ask();
      if (isDone(call) && body !== undefined) return body;
      if (now() > end) throw new Error(`the shop did not answer 200: ${JSON.stringify(call)}`);
      await pause(100);
    }
  }

  /** Waits until everything that happened has arrived everywhere, closes the record, and judges it. */
  async judge(limitMs = settleLimitMs): Promise<Verdict> {
    for (const receiver of this.receivers) receiver.failing = 0;
    const unsettled = await this.settle(limitMs);
    this.looking = false;
    await this.looks;
    const plantIds = [...this.supplied.keys()];
    this.snapshots.push(await this.ground.databases.snapshot(plantIds));
    const final = await this.ground.databases.final(plantIds);
    for (const socket of this.sockets) socket.stop();
    for (const id of this.webhooks) await this.surely(() => this.staff.other('DELETE', `/v3/webhooks/${id}`));
    for (const receiver of this.receivers) receiver.stop();
    const forged = this.receivers.filter((one) => one.forged > 0).map((one) => `${one.name} got ${one.forged} POSTs with a wrong signature`);
    const history: History = {
      calls: this.calls,
      snapshots: this.snapshots,
      final: { ...final, receivers: this.receivers, sockets: this.sockets },
      supplied: this.supplied,
      leavers: this.leavers,
      ordersExpire: this.ordersExpire,
      gatewayFaults: this.faults.ofGateways,
      withoutGateway: this.faults.withoutGateway,
      deadlineMs: this.deadlineMs,
      unsettled: [...unsettled, ...forged],
    };
    return { history, violations: check(history), recoveryMs: longestRecovery(this.calls, this.faults.done) };
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
    const left = await this.leftToDo().catch((error: unknown) => [String(error)]);
    return left.every((what) => what.includes('webhook'));
  }

  private async leftToDo(): Promise<string[]> {
    const { unnumbered, head, logged, deliveries, intents, events } = await this.ground.databases.underWay([...this.supplied.keys()]);
    const behind = this.sockets.filter((socket) => new Set(socket.events.map(({ id }) => id)).size < events);
    return [
      ...(unnumbered > 0 ? [`${unnumbered} events have no number`] : []),
      ...(logged !== head ? [`the log is at ${logged} of ${head}`] : []),
      ...(deliveries > 0 ? [`${deliveries} webhook deliveries are pending`] : []),
      ...(intents > 0 ? [`${intents} intents of the catalog are open`] : []),
      ...behind.map(({ name, events: { length } }) => `${name} has ${length} of ${events} events`),
    ];
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

/** From a fault's end to the last request that was begun after it, and before the next fault, and not served. */
export function longestRecovery(calls: readonly Call[], faults: readonly { readonly from: number; readonly to: number }[]): number | undefined {
  if (faults.length === 0) return undefined;
  const times = faults.map(({ to }, n) => {
    const end = faults[n + 1]?.from ?? Infinity;
    const failed = calls.filter((call) => call.from >= to && call.to < end && !isServed(call));
    return Math.max(0, ...failed.map((call) => call.to - to));
  });
  return Math.max(...times);
}

/** A call that tells the client that nothing is known, or to come back. */
export const comesBack = (call: Call): boolean => !isAnswered(call) || call.answer.status === 503 || call.answer.status === 429;
