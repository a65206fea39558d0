import type { Random } from './random.js';
import { type ServiceName, services } from './stack.js';

/** A fault to inject, `atMs` after the start of the plan. */
export type Fault = { readonly atMs: number } & (
  | { readonly kind: 'kill'; readonly targets: readonly string[] }
  | { readonly kind: 'pause'; readonly targets: readonly string[]; readonly forMs: number }
  | { readonly kind: 'cut'; readonly targets: readonly string[]; readonly from: 'nats' | 'postgres'; readonly forMs: number }
  /** Half-open connections: nothing arrives and nothing is closed. For `blackoutMs` new connections stall too. */
  | {
      readonly kind: 'stall';
      readonly targets: readonly string[];
      readonly from: 'nats' | 'postgres';
      readonly blackoutMs: number;
      readonly forMs: number;
    }
  /** SIGSTOP of all processes of `postgres`, of `nats` (all its servers), or of one NATS server: `nats-2`. */
  | { readonly kind: 'freeze'; readonly targets: readonly string[]; readonly forMs: number }
  /** Kill of `postgres`, `nats` (all its servers), or one NATS server: `nats-2`. */
  | { readonly kind: 'restart'; readonly targets: readonly string[] }
  /** `jetstream` loses its streams, or their newest messages. */
  | { readonly kind: 'rewind'; readonly targets: readonly ['jetstream'] }
  /** The store begins a new epoch of its events, as after each failover. */
  | { readonly kind: 'epoch'; readonly targets: readonly ['store'] }
  | { readonly kind: 'roll'; readonly targets: readonly string[] }
  /** Sets the clock of these processes' host, or of `postgres`, until the next such fault; all other clocks are right. */
  | { readonly kind: 'clock'; readonly targets: readonly string[]; readonly aheadMs: number }
  /** Unavailable to all services; NATS comes back empty. */
  | { readonly kind: 'away'; readonly targets: readonly ('nats' | 'postgres')[]; readonly forMs: number }
);

/** Kinds that `makePlan` can schedule. `mail`: a kill or pause of the mail server; `jetstream`: of that server, or a rewind. */
export type FaultKind = Exclude<Fault['kind'], 'away' | 'clock' | 'epoch' | 'rewind'> | 'mail' | 'jetstream';

/** How long connections stall while new ones work, in milliseconds. */
export const stallMs = 12_000;

/**
 * Whether this version of nats-server closes half-open connections that it delivers messages to. Older ones postpone their pings while
 * they send (nats-server#4014), so a stalled member of a queue group keeps getting its share of the calls until TCP gives up.
 */
export function closesStalledConnections(natsVersion: string): boolean {
  const [major = 0, minor = 0, patch = 0] = natsVersion.split('.').map(Number);
  return major > 2 || (major === 2 && (minor > 9 || (minor === 9 && patch >= 16)));
}

interface Scope {
  readonly kinds: readonly FaultKind[];
  readonly services?: readonly ServiceName[];
  /** `store-2`, … */
  readonly labels: readonly string[];
  readonly seconds: number;
  /** `nats-2`, …; absent if there is only one server. */
  readonly natsServers?: readonly string[];
  /** Default: a version that closes stalled connections. */
  readonly natsVersion?: string;
  /** The least time from one fault's end to the next one's begin, in which the recovery is measured. */
  readonly restMs?: number;
  readonly longestPauseMs?: number;
}

/**
 * Makes a plan, always the same for the same seed and scope. Kinds and services take turns in shuffled order, so that even a short
 * plan has some of each. One fault in three hits all replicas of its service.
 */
export function makePlan(random: Random, scope: Scope): Fault[] {
  const { kinds, labels, seconds, natsServers = [], natsVersion = '2.14.2', restMs = 4_000, longestPauseMs = 20_000 } = scope;
  const kindsInTurn = turns(random, kinds);
  const servicesInTurn = turns(random, scope.services ?? services);
  const serversInTurn = turns(random, ['nats', 'postgres'] as const);
  const plan: Fault[] = [];
  for (let atMs = 1_000; atMs < seconds * 1_000 - restMs; ) {
    const fault = make(kindsInTurn(), atMs);
    plan.push(fault);
    atMs = endOf(fault) + restMs + random.between(0, 1_000);
  }
  return plan;

  function make(kind: FaultKind, atMs: number): Fault {
    switch (kind) {
      case 'kill':
        return { kind, atMs, targets: some(servicesInTurn()) };
      case 'pause':
        return { kind, atMs, targets: some(servicesInTurn()), forMs: random.between(1_000, longestPauseMs) };
      case 'cut': {
        const service = servicesInTurn();
        const from = service === 'gateway' || random.chance(0.5) ? 'nats' : 'postgres';
        return { kind, atMs, targets: some(service), from, forMs: random.between(500, 5_000) };
      }
      case 'stall': {
        const service = servicesInTurn();
        // The gateway has no database, and is in no queue group.
        const toNats = service === 'gateway' || (random.chance(0.5) && closesStalledConnections(natsVersion));
        // Longer than the shop may take to replace stalled connections, so that a failure to do so shows.
        const blackoutMs = random.chance(0.5) ? 0 : random.between(500, 3_000);
        return { kind, atMs, targets: some(service), from: toNats ? 'nats' : 'postgres', blackoutMs, forMs: blackoutMs + stallMs };
      }
      case 'freeze': {
        const server = serversInTurn();
        const one = server === 'nats' && natsServers.length > 1 && random.chance(0.5);
        return { kind, atMs, targets: [one ? random.pick(natsServers) : server], forMs: random.between(1_000, 6_000) };
      }
      case 'restart':
        return { kind, atMs, targets: [serversInTurn()] };
      case 'roll':
        return { kind, atMs, targets: [random.pick(of(servicesInTurn()))] };
      case 'mail':
        return random.chance(0.5) ? { kind: 'kill', atMs, targets: ['mail'] } : { kind: 'pause', atMs, targets: ['mail'], forMs: random.between(1_000, 4_000) };
      case 'jetstream': {
        const targets = ['jetstream'] as const;
        if (random.chance(0.5)) return { kind: 'rewind', atMs, targets };
        return random.chance(0.5) ? { kind: 'kill', atMs, targets } : { kind: 'pause', atMs, targets, forMs: random.between(1_000, 4_000) };
      }
      default:
        return kind satisfies never;
    }
  }

  function some(service: ServiceName): readonly string[] {
    return random.chance(1 / 3) ? of(service) : [random.pick(of(service))];
  }

  function of(service: ServiceName): readonly string[] {
    return labels.filter((label) => label.replace(/-\d+$/, '') === service);
  }
}

function turns<T>(random: Random, values: readonly T[]): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffle(values);
    return left.shift() as T;
  };
}

/** When the fault ends, in milliseconds of the plan; a killed process is restarted by the stack. */
export const endOf = (fault: Fault): number => fault.atMs + ('forMs' in fault ? fault.forMs : 0);

/** Describes a fault with its time in the plan. */
export const describeFault = (fault: Fault): string => `${(fault.atMs / 1_000).toFixed(1).padStart(6)} s  ${nameOf(fault)}`;

export function nameOf(fault: Fault): string {
  const targets = fault.targets.join(' and ');
  const seconds = 'forMs' in fault ? `${(fault.forMs / 1_000).toFixed(1)} s` : '';
  return {
    kill: `kill -9 ${targets}`,
    pause: `SIGSTOP ${targets} for ${seconds}`,
    cut: `cut ${targets} off from ${'from' in fault ? fault.from : ''} for ${seconds}`,
    stall: `stall ${targets}'s connections to ${'from' in fault ? fault.from : ''} for ${seconds}${'blackoutMs' in fault && fault.blackoutMs > 0 ? `, new ones too for ${(fault.blackoutMs / 1_000).toFixed(1)} s` : ''}`,
    freeze: `SIGSTOP ${targets} for ${seconds}`,
    restart: fault.targets[0] === 'postgres' ? 'stop Postgres (immediate)' : `kill -9 ${targets}, back empty`,
    rewind: `kill -9 ${targets}, back with older data or none`,
    epoch: `${targets} begins a new epoch`,
    roll: `SIGTERM ${targets}`,
    clock: `clock of ${targets} set ${'aheadMs' in fault ? fault.aheadMs / 1_000 : ''} s ahead`,
    away: `${targets} away for ${seconds}`,
  }[fault.kind];
}
