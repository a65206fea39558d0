import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createShop } from '@plant-shop/client';
import { Balancer } from '@plant-shop/testing/balancer';
import type { Credentials } from '@plant-shop/testing/http';
import { becomesTrue } from '@plant-shop/testing/until';
import { backlogOf } from './backlog.js';
import { check } from './checks/check.js';
import type { Violation } from './checks/violation.js';
import { Client, staffKey } from './client.js';
import { now, pause } from './clock.js';
import { CaughtMails } from './caught-mails.js';
import type { Consumer } from './consumer.js';
import { Databases } from './database.js';
import { Faults } from './faults.js';
import { FlakyReceiver } from './flaky-receiver.js';
import { FollowingSocket } from './following-socket.js';
import { longestRecovery } from './checks/work.js';
import { type Call, type Objectives, eventTypes, type FinalState, type Follower, type History, type MailUser, isDone, mayHaveHappened, type SeenEvent, type Snapshot } from './history.js';
import type { Browser } from './programs/follow-events-in-browser.js';
import type { Random } from './random.js';
import { StreamReader } from './stream-reader.js';
import { instancesOf, type Stack } from './stack.js';

/** The default of the gateway's REQUEST_BUDGET_MS, and 1 s. */
const defaultDeadlineMs = 10_000 + 1_000;
const snapshotEveryMs = 300;
/** How long requests of a trial's set-up are retried. */
const setUpLimitMs = 30_000;
/** A recovery that takes longer is reported. */
const slowRecoveryMs = 3_000;

/** A running shop and its addresses. */
export interface Testbed {
  readonly stack: Stack;
  readonly balancer: Balancer;
  readonly gatewayUrl: string;
  readonly streamUrls: readonly string[];
  readonly databases: Databases;
  /** Accepts and discards every webhook: for endpoints that customers create. */
  readonly sinkUrl: string;
  /** URL of the built client library, for programs. */
  readonly library: string;
  /** Runs a consumer in a page. Absent: no browser was found. */
  readonly browser?: Browser;
  readonly say: (line: string) => void;
  close(): void;
}

export async function openTestbed(stack: Stack, say: (line: string) => void, { library = import.meta.resolve('@plant-shop/client'), browser }: Partial<Pick<Testbed, 'library' | 'browser'>> = {}): Promise<Testbed> {
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
  return { stack, balancer, gatewayUrl, streamUrls, databases: new Databases(() => stack.adminUrl), sinkUrl, library, ...(browser && { browser }), say, close };
}

/** An account and its client. */
export interface Customer {
  readonly username: string;
  readonly token: string;
  readonly client: Client;
}

/** Fills in missing event ids by body: the order, its change and the time in it make the body unique. */
function withIds({ name, types, events }: Follower, known: readonly SeenEvent[]): Follower {
  const ids = new Map(known.map(({ id, body }) => [body, id]));
  return { name, types, events: events.map(({ id, body }) => ({ id: id === '' ? (ids.get(body) ?? 'unknown') : id, body })) };
}

export interface Verdict {
  readonly history: History;
  readonly violations: readonly Violation[];
  /** The longest time from a fault's end to the last request that was not served, in milliseconds. */
  readonly recoveryMs: number | undefined;
}

/** How long events may take to arrive at every follower. */
export const settleLimitMs = 60_000;
/** Longer than any trial: an order that expired during judgement would be expired in some of the reads and not in others. */
export const defaultTtlMs = 24 * 3_600_000;
/**
 * For goals with faults. Their target is a recovery within 5 s on an idle machine; a run fails beyond three times that.
 * Measurements are in docs/reliability.md.
 */
const defaultObjectives: Objectives = { servedShare: 0.5, recoveryMs: 15_000 };

/** One trial, from `open` to `judge`: its plants, clients, followers and history. */
export class Trial {
  readonly faults: Faults;
  readonly calls: Call[] = [];
  readonly supplied = new Map<number, number | undefined>();
  timers: History['timers'] = { expireAfterMs: defaultTtlMs };
  databaseClockErrorMs = 0;
  objectives: Objectives = defaultObjectives;
  deadlineMs = defaultDeadlineMs;
  /** Clients whose accounts are deleted during the trial. */
  readonly deletedUsers = new Set<string>();
  readonly staff: Client;
  /** Sockets whose credentials are revoked during the trial. */
  readonly revokedSockets: Follower[] = [];
  /** Programs that follow events; `judge` waits until they have all of them. */
  readonly consumers: Consumer[] = [];
  readonly caughtMails: CaughtMails;
  readonly mailUsers: MailUser[] = [];
  /** Client names by username. */
  private readonly accounts = new Map([['admin', 'staff']]);
  private readonly snapshots: Snapshot[] = [];
  private readonly webhooks: string[] = [];
  private destinationId = '';
  private isSnapshotting = true;
  private readonly snapshotLoop: Promise<void>;

  private constructor(
    readonly testbed: Testbed,
    readonly random: Random,
    readonly receivers: readonly FlakyReceiver[],
    readonly sockets: readonly FollowingSocket[],
    readonly stream: StreamReader,
    /** Events that were in the log before. An earlier trial may have lost orders with the store's database, whose ids are assigned again. */
    private readonly earlierEvents: ReadonlySet<string>,
    private readonly earlierDeadlocks: number,
  ) {
    this.faults = new Faults(testbed.stack, testbed.databases, testbed.balancer, testbed.say);
    this.staff = this.client('staff', staffKey);
    this.caughtMails = new CaughtMails(testbed.stack.mail.journal);
    this.snapshotLoop = this.takeSnapshots();
  }

  static async open(testbed: Testbed, random: Random, { receivers = 2, sockets = 4 } = {}): Promise<Trial> {
    const listening = await Promise.all(Array.from({ length: sockets }, (_, n) => FollowingSocket.open(`socket ${n + 1}`, testbed.streamUrls, n, n % 2 === 1 ? undefined : eventTypes)));
    const receiving = await Promise.all(Array.from({ length: receivers }, (_, n) => FlakyReceiver.start(`receiver ${n + 1}`, random.fork(), n === 0 ? 0.02 : 0.1, n === 0 ? eventTypes : undefined)));
    const trial = new Trial(testbed, random, receiving, listening, await StreamReader.open(testbed.stack.jetstreamUrl), await testbed.databases.loggedEvents(), await testbed.databases.deadlocks());
    const { stream, subject } = trial.stream;
    const destination = { name: stream, url: testbed.stack.jetstreamUrl, stream, subject, eventTypes: trial.stream.types };
    trial.destinationId = (await trial.untilDone((key) => trial.staff.other<{ id: string }>('POST', '/v3/destinations', destination, key))).id;
    for (const receiver of receiving) {
      const { id, secret } = await trial.untilDone((key) =>
        trial.staff.other<{ id: string; secret: string }>('POST', '/v3/webhooks', { url: receiver.url, ...(receiver.types && { eventTypes: receiver.types }) }, key));
      receiver.secret = secret;
      trial.webhooks.push(id);
    }
    return trial;
  }

  client(name: string, credentials: Credentials, url = this.testbed.gatewayUrl): Client {
    return new Client(name, url, (call) => this.calls.push(call), credentials);
  }

  /** Creates a plant for this trial. @param stays whether the plant is never deleted, so that its stock can be checked */
  async plant(quantity: number, tags: readonly string[] = [], stays = true): Promise<number> {
    const { id } = await this.untilDone((key) =>
      this.staff.other<{ id: number }>('POST', '/v3/plant', { name: '#0', quantity, tags: tags.map((name) => ({ name })) }, key));
    this.supplied.set(id, stays ? quantity : undefined);
    return id;
  }

  /** Registers a user and logs in; retries for `setUpLimitMs`. */
  async customer(name: string): Promise<Customer> {
    const end = now() + setUpLimitMs;
    for (;;) {
      const customer = await this.register(name);
      if (customer) return customer;
      if (now() > end) throw new Error(`could not register ${name}`);
      await pause(100);
    }
  }

  /** Registers a user and logs in, once. @returns undefined if the shop refused, which it may during faults */
  async register(name: string): Promise<Customer | undefined> {
    const password = 'a long enough password';
    const anonymous = this.client(name, {});
    // A new name for each attempt: an attempt whose answer was lost may have taken its name.
    const username = `${name}-${Math.round(now() * 1_000).toString(36)}`;
    const { call } = await anonymous.other('POST', '/v3/user', { username, password });
    if (!isDone(call)) return undefined;
    const { call: login, body } = await anonymous.other<{ message: string }>('GET', `/v3/user/login?username=${username}&password=${encodeURIComponent(password)}`);
    if (!isDone(login) || !body) return undefined;
    this.accounts.set(username, name);
    return { username, token: body.message, client: this.client(name, { bearer: body.message }) };
  }

  /**
   * Repeats a request of the set-up until it is answered 200; the shop may still be recovering. An attempt that may have had an effect is
   * repeated with its key. One that had none gets a new key, so that an effect would show as a second plant or webhook.
   */
  async untilDone<B>(send: (key: string) => Promise<{ call: Call; body: B | undefined }>): Promise<B> {
    const end = now() + setUpLimitMs;
    let mayHaveEffect = false;
    for (let key = randomUUID(); ; ) {
      const { call, body } = await send(key);
      if (isDone(call) && body !== undefined) return body;
      mayHaveEffect ||= mayHaveHappened(call);
      if (!mayHaveEffect) key = randomUUID();
      if (now() > end) throw new Error(`the shop did not answer 200: ${JSON.stringify(call)}`);
      await pause(100);
    }
  }

  /** Lists the due refunds over HTTP, page by page. `unread` has the error if the shop did not answer. */
  private async refundsDue(): Promise<{ readonly found: FinalState['refundsDue']; readonly unread: readonly string[] }> {
    const shop = createShop({ url: this.testbed.gatewayUrl, credential: { apiKey: staffKey.apiKey }, deadlineMs: setUpLimitMs });
    const found: FinalState['refundsDue'][number][] = [];
    try {
      for await (const refund of shop.list('/store/refund', { status: 'due' })) found.push(refund);
    } catch (error) {
      return { found, unread: [`refunds could not be listed: ${String(error)}`] };
    }
    return { found, unread: [] };
  }

  /** Waits until every event has arrived at every follower, completes the history, and checks it. */
  async judge(limitMs = settleLimitMs): Promise<Verdict> {
    for (const receiver of this.receivers) receiver.failing = 0;
    this.testbed.stack.mail.fail(0);
    const unsettled = await this.settle(limitMs);
    this.isSnapshotting = false;
    await this.snapshotLoop;
    const plantIds = [...this.supplied.keys()];
    this.snapshots.push(await this.testbed.databases.snapshot(plantIds));
    const final = await this.testbed.databases.final(plantIds, this.accounts, this.calls, this.earlierEvents);
    const deadlocks = Math.max(0, (await this.testbed.databases.deadlocks()) - this.earlierDeadlocks);
    for (const follower of [...this.sockets, ...this.consumers]) follower.stop();
    const destinations = [await this.stream.end()];
    const undeleted = await this.deleteReceivers();
    await Promise.all(this.receivers.map((one) => one.stop()));
    const forged = this.receivers.filter((one) => one.forged > 0).map((one) => `${one.name} got ${one.forged} POSTs with a wrong signature`);
    const untimely = this.databaseClockErrorMs > 0 ? [] : this.receivers.filter((one) => one.untimely > 0).map((one) => `${one.name} refused ${one.untimely} POSTs for their time`);
    const refunds = await this.refundsDue();
    const history: History = {
      calls: this.calls,
      snapshots: this.snapshots,
      final: { ...final, deadlocks, refundsDue: refunds.found, receivers: this.receivers, sockets: [...this.sockets, ...this.consumers.map((one) => withIds(one, final.log))], revokedSockets: this.revokedSockets, mails: this.caughtMails.all, destinations },
      supplied: this.supplied,
      deletedUsers: this.deletedUsers,
      timers: this.timers,
      databaseClockErrorMs: this.databaseClockErrorMs,
      // A graceful stop excuses nothing.
      faults: this.faults.injected.filter(({ fault }) => fault.kind !== 'roll'),
      addedRests: this.faults.addedRests,
      objectives: this.objectives,
      gatewayFaults: this.faults.ofGateways,
      withoutGateway: this.faults.withoutGateway,
      mailUsers: this.mailUsers,
      mailFaults: this.faults.ofMail,
      destinationFaults: this.faults.ofDestination,
      deadlineMs: this.deadlineMs,
      unsettled: [...unsettled, ...undeleted, ...forged, ...untimely, ...refunds.unread],
    };
    const recovery = longestRecovery(this.calls, this.faults.injected);
    if (recovery && recovery.ms > slowRecoveryMs) this.testbed.say(`  longest recovery ${(recovery.ms / 1_000).toFixed(1)} s: ${recovery.what}`);
    return { history, violations: check(history), recoveryMs: recovery?.ms };
  }

  /** @returns an error for each webhook or destination that could not be deleted */
  private async deleteReceivers(): Promise<string[]> {
    const paths = [...this.webhooks.map((id) => `/v3/webhooks/${id}`), `/v3/destinations/${this.destinationId}`];
    const deleting = paths.map((path) => this.untilDone(() => this.staff.other('DELETE', path)));
    return (await Promise.allSettled(deleting)).flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  }

  /** @returns descriptions of the work that was still pending at the limit */
  private async settle(limitMs: number): Promise<string[]> {
    if (!(await this.faults.ready())) return ['not every process was ready again'];
    let why: string[] = ['pending work could not be queried'];
    await becomesTrue(async () => {
      try {
        why = await this.pendingWork();
      } catch (error) {
        why = [String(error)];
      }
      return why.length === 0;
    }, limitMs, 250);
    return why;
  }

  /** Whether every event is in the log and at every socket; webhooks may still be pending. */
  async hasArrived(): Promise<boolean> {
    const left = await this.pendingWork(this.sockets).catch((error: unknown) => [String(error)]);
    return left.every((what) => what.includes('webhook'));
  }

  private async pendingWork(followers: readonly Follower[] = [...this.sockets, ...this.receivers, this.stream]): Promise<string[]> {
    const { left, events } = await this.testbed.databases.pendingWork([...this.supplied.keys()]);
    return backlogOf(left, [...followers, ...this.consumers.map((one) => withIds(one, events))], events);
  }

  private async takeSnapshots(): Promise<void> {
    while (this.isSnapshotting) {
      try {
        const plantIds = [...this.supplied.keys()];
        if (plantIds.length > 0) this.snapshots.push(await this.testbed.databases.snapshot(plantIds));
      } catch {
        // Postgres is down; the next snapshot is taken when it is back.
      }
      await pause(snapshotEveryMs);
    }
  }

}
