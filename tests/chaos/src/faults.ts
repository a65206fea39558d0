import type { Balancer } from '@plant-shop/testing/balancer';
import { becomesTrue } from '@plant-shop/testing/until';
import { now, pause } from './clock.js';
import type { Databases } from './database.js';
import type { Window } from './history.js';
import { endOf, type Fault, nameOf } from './plan.js';
import { instancesOf, type Stack } from './stack.js';

/** A fault that was injected. From `to` on the shop could recover; in a stall, that is when new connections worked again. */
export interface InjectedFault extends Window {
  readonly fault: Fault;
}

/** From a gateway's last new request to its SIGTERM; a platform takes longer (preStop in deploy/). */
const withdrawalMs = 500;
const startLimitMs = 60_000;
/** A longer recovery is slow: processes start late on a busy machine. */
const slowAfterMs = 2_000;
/** Until then services may report ready although a server was killed. */
const noticedWithinMs = 1_000;

export class Faults {
  readonly injected: InjectedFault[] = [];
  /** By gateway: the windows from its kill until it was ready again. */
  private readonly deaths = new Map<string, Window[]>();
  /** How long processes took from SIGTERM to exit, in milliseconds. */
  readonly endings: number[] = [];
  /** By how much recoveries were slow, in milliseconds, all in all. */
  private slowRecoveriesMs = 0;
  /** The time after slow recoveries by which faults came late. */
  readonly addedRests: Window[] = [];
  /** Ends when every process is ready again after the last fault. */
  private recovery = Promise.resolve();

  constructor(private readonly stack: Stack, private readonly databases: Databases, private readonly balancer: Balancer, private readonly say: (line: string) => void) {}

  /**
   * Injects the faults of a plan until the work is over, each at its time, but not before the shop has recovered from the previous
   * one and served for half of the planned gap: a slow machine would do nothing but recover otherwise.
   */
  async carryOut(plan: readonly Fault[], work: Promise<unknown>): Promise<void> {
    const over = work.then(() => 'over' as const);
    // With an empty plan nothing else handles this rejection; `await work` below rethrows it.
    over.catch(() => undefined);
    const begin = now();
    let previousEndMs = 0;
    for (const fault of plan) {
      const due = this.whenDue(begin + fault.atMs, (fault.atMs - previousEndMs) / 2);
      if ((await Promise.race([over, due])) === 'over') break;
      await this.do(fault);
      previousEndMs = endOf(fault);
    }
    await work;
  }

  /** Waits until the planned time, and until the shop has recovered and then served for `serviceMs`. */
  private async whenDue(plannedAt: number, serviceMs: number): Promise<void> {
    await this.recovery;
    const from = Math.max(now(), plannedAt);
    const to = Math.max(now() + serviceMs, plannedAt);
    if (to > from) this.addedRests.push({ from, to });
    await pause(to - now());
    await this.ready();
  }

  async do(fault: Fault): Promise<void> {
    this.stack.signal.throwIfAborted();
    const from = now();
    this.say(`${(from / 1_000).toFixed(2).padStart(8)} s  ${nameOf(fault)}`);
    const healthyAt = await this.begin(fault);
    this.injected.push({ fault, from, to: healthyAt ?? now() });
    this.recovery = this.noteRecovery();
  }

  private async noteRecovery(): Promise<void> {
    const from = now();
    await pause(noticedWithinMs);
    await this.ready();
    this.slowRecoveriesMs += Math.max(0, now() - from - slowAfterMs);
  }

  /** How much longer a workload lasts because of slow recoveries, in milliseconds. */
  get delayMs(): number {
    return this.slowRecoveriesMs + this.addedRests.reduce((sum, { from, to }) => sum + to - from, 0);
  }

  /** Windows in which gateways could lose requests in flight. */
  get ofGateways(): Window[] {
    return this.injected
      .filter(({ fault }) => fault.kind !== 'roll' && fault.targets.some((target) => target.startsWith('gateway')))
      .filter(({ fault }) => !['cut', 'clock', 'stall'].includes(fault.kind))
      .map(({ from, to }) => ({ from, to: to + 500 }));
  }

  /** Faults of notifications, Postgres and the mail server. */
  get ofMail(): Window[] {
    return this.injected.filter(({ fault }) => fault.targets.some((target) => /^(notifications|postgres|mail)/.test(target)));
  }

  /** Faults of notifications, its servers, and the broker of the destination. */
  get ofDestination(): Window[] {
    return this.injected.filter(({ fault }) => fault.targets.some((target) => /^(notifications|postgres|nats|jetstream)/.test(target)));
  }

  /** Windows in which all gateways were dead at the same time. */
  get withoutGateway(): Window[] {
    const [first = [], ...others] = instancesOf(this.stack, 'gateway').map(({ label }) => this.deaths.get(label) ?? []);
    return others.reduce(overlaps, first);
  }

  /** @returns when the shop could begin to recover, if that is before the fault's end */
  private async begin(fault: Fault): Promise<number | undefined> {
    switch (fault.kind) {
      case 'kill':
        for (const target of fault.targets) this.kill(target);
        return undefined;
      case 'pause': {
        const pids = fault.targets.flatMap((target) => this.signal(target, 'SIGSTOP') ?? []);
        try {
          await pause(fault.forMs);
        } finally {
          for (const pid of pids) process.kill(pid, 'SIGCONT');
        }
        return undefined;
      }
      case 'cut': {
        const links = fault.targets.flatMap((target) => this.stack.links[target]?.[fault.from] ?? []);
        await Promise.all(links.map((link) => link.cut()));
        await pause(fault.forMs);
        await Promise.all(links.map((link) => link.restore()));
        return undefined;
      }
      case 'stall': {
        const links = fault.targets.flatMap((target) => this.stack.links[target]?.[fault.from] ?? []);
        await Promise.all(links.map((link) => link.stall()));
        try {
          await pause(fault.blackoutMs);
          await Promise.all(links.map((link) => link.admit()));
          const healthyAt = now();
          await pause(fault.forMs - fault.blackoutMs);
          return healthyAt;
        } finally {
          await Promise.all(links.map((link) => link.resume()));
        }
      }
      case 'freeze':
        await this.freeze(fault.targets, fault.forMs);
        return undefined;
      case 'restart':
        for (const target of fault.targets) this.end(target);
        return undefined;
      case 'rewind':
        await this.stack.rewindStreams();
        return undefined;
      case 'epoch':
        await this.databases.beginEpoch();
        return undefined;
      case 'roll':
        for (const target of fault.targets) await this.roll(target);
        return undefined;
      case 'clock':
        for (const [label, clock] of Object.entries(this.stack.clocks ?? {})) clock.set(fault.targets.includes(label) ? fault.aheadMs : 0);
        return undefined;
      case 'away':
        await this.takeAway(fault.targets, fault.forMs);
        return undefined;
      default:
        return fault satisfies never;
    }
  }

  /** Stops a process as a platform does, and waits until its successor is ready. */
  async roll(target: string): Promise<void> {
    this.balancer.withdraw(target);
    await pause(withdrawalMs);
    const from = now();
    const pid = this.signal(target, 'SIGTERM');
    await becomesTrue(() => this.stack.pidOf(target) !== pid, startLimitMs, 10);
    this.endings.push(now() - from);
    if (!(await this.ready([target], startLimitMs))) throw new Error(`${target} did not come back`);
    this.balancer.readmit(target);
  }

  /** Waits until these processes, by default all, are ready. @returns false if they were not within the limit */
  ready(targets: readonly string[] = this.stack.instances.map(({ label }) => label), limitMs = startLimitMs): Promise<boolean> {
    const opsPorts = this.stack.instances.filter(({ label }) => targets.includes(label)).map(({ opsPort }) => opsPort);
    const isReady = (opsPort: number): Promise<boolean> =>
      fetch(`http://127.0.0.1:${opsPort}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(({ ok }) => ok, () => false);
    return becomesTrue(async () => (await Promise.all(opsPorts.map(isReady))).every(Boolean), limitMs);
  }

  /** Runs `work` while these instances are cut off from their databases. */
  async withoutPostgres(targets: readonly string[], work: () => Promise<void>): Promise<void> {
    const links = targets.flatMap((target) => this.stack.links[target]?.postgres ?? []);
    const from = now();
    await Promise.all(links.map((link) => link.cut()));
    // Postgres takes a moment to notice that the connections are gone.
    await pause(500);
    await work();
    await Promise.all(links.map((link) => link.restore()));
    this.injected.push({ fault: { kind: 'cut', atMs: 0, targets, from: 'postgres', forMs: now() - from }, from, to: now() });
  }

  private async takeAway(servers: readonly ('nats' | 'postgres')[], forMs: number): Promise<void> {
    const links = Object.values(this.stack.links).flatMap((of) => servers.flatMap((server) => of[server] ?? []));
    await Promise.all(links.map((link) => link.cut()));
    for (const server of servers) this.end(server);
    await pause(forMs);
    await Promise.all(links.map((link) => link.restore()));
  }

  /** Kills Postgres (immediate shutdown), all NATS servers, or one of them. */
  private end(server: string): void {
    if (server === 'postgres') this.signal(server, 'SIGQUIT');
    else for (const one of server === 'nats' ? this.stack.natsServers : [server]) this.signal(one, 'SIGKILL');
  }

  /** Stops the parent process first, so that it cannot fork children that keep running. */
  private async freeze(targets: readonly string[], forMs: number): Promise<void> {
    const frozen: number[] = [];
    try {
      for (const target of targets.flatMap((one) => (one === 'nats' ? this.stack.natsServers : [one]))) {
        const parent = this.stack.pidOf(target);
        if (parent === undefined) continue;
        signalIfRunning(parent, 'SIGSTOP');
        frozen.push(parent);
        for (const pid of this.stack.pidsOf(target).slice(1)) {
          signalIfRunning(pid, 'SIGSTOP');
          frozen.push(pid);
        }
      }
      await pause(forMs);
    } finally {
      for (const pid of frozen) signalIfRunning(pid, 'SIGCONT');
    }
  }

  private kill(target: string): void {
    const death: { from: number; to: number } = { from: now(), to: Infinity };
    const pid = this.signal(target, 'SIGKILL');
    const deaths = this.deaths.get(target) ?? [];
    this.deaths.set(target, [...deaths, death]);
    void becomesTrue(() => this.stack.pidOf(target) !== pid, startLimitMs, 10)
      .then(() => this.ready([target]))
      .then(() => (death.to = now()));
  }

  private signal(target: string, signal: NodeJS.Signals): number | undefined {
    const pid = this.stack.pidOf(target);
    if (pid !== undefined) process.kill(pid, signal);
    return pid;
  }
}

/** A Postgres session may end while the processes are being listed. */
function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The intersection of two lists of windows. */
export const overlaps = (some: readonly Window[], others: readonly Window[]): Window[] =>
  some.flatMap((one) =>
    others
      .map((other) => ({ from: Math.max(one.from, other.from), to: Math.min(one.to, other.to) }))
      .filter(({ from, to }) => from < to));
