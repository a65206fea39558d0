import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { NoAnswer, RawHttp } from '../raw-http.js';
import { type Costly, costlyRequests, otherTargets } from './costly.js';
import { Fixtures } from './fixtures.js';
import { type ApiDocument, targetsOf } from './requests.js';
import { Values } from './values.js';

/** The most that one request may cost a process, and the longest that it may keep an event loop from other requests. Milliseconds of processor time. */
const limitMs = 50;
/** A request that costs too much is sent again: one of so many attempts within the limit proves that something else took the time. */
const attempts = 10;
/** An interval in which this process itself was busy or waited for a processor for longer is not judged. */
const lateMs = 5;
const deadlineMs = 31_000;
/** Operations that share fixtures. */
const batch = 8;

/**
 * What may cost a process more, with the reason. It may not block an event loop for longer: the time that the main thread takes between
 * two answers to a health check is limited as for all others.
 */
const allowed: readonly { readonly operations: readonly string[]; readonly process: string; readonly reason: string }[] = [
  { operations: ['createUser', 'updateUser', 'login'], process: 'identity', reason: 'a password is hashed with argon2, in another thread' },
  { operations: ['createOAuthClient', 'rotateOAuthClientSecret', 'oauthToken', 'oauthIntrospect', 'oauthRevoke'], process: 'identity', reason: "a client's secret is hashed likewise" },
  { operations: ['createUsers'], process: 'identity', reason: 'a password is hashed for each user, in other threads; the rate limit counts each' },
  { operations: ['importPlants', 'exportPlants'], process: '', reason: 'streamed for as long as the client sends or reads; the rate limit counts the time' },
  { operations: ['uploadImage'], process: '', reason: '10 MiB are read and stored in pieces' },
];

interface Run {
  readonly streamUrl: string;
  readonly services: Readonly<Record<string, readonly { readonly label: string; readonly pid: number; readonly opsPort: number }[]>>;
  readonly postgres: { readonly pid: number };
  readonly nats: { readonly pid: number };
}

export interface Excess {
  readonly operationId: string;
  readonly what: string;
  readonly request: string;
  readonly status?: number | string;
  readonly process: string;
  /** The least of all attempts. */
  readonly ms: number;
  readonly fault: string;
}

export interface CostReport {
  readonly tried: number;
  readonly operations: number;
  readonly excesses: readonly Excess[];
  /** The costliest admitted ones, within the limit, from the costliest down. */
  readonly costliest: readonly Omit<Excess, 'fault'>[];
}

export interface CostOptions {
  readonly url: string;
  readonly runFile: string;
  readonly only?: string;
  /** Sends each kind of request to one operation only. */
  readonly isShort?: boolean;
  readonly say?: (line: string) => void;
}

/** Sends costly requests one at a time, and reads from /proc what each costs every process of the shop. */
export async function findCostly({ url, runFile, only, isShort = false, say }: CostOptions): Promise<CostReport> {
  const run = JSON.parse(readFileSync(runFile, 'utf8')) as Run;
  const meter = new Meter(run);
  // A network of its own, so that its failed logins count for no other test.
  const http = new RawHttp(url, '127.0.67.1');
  const stream = new RawHttp(run.streamUrl.replace(/^ws/, 'http'), '127.0.67.1');
  const fixtures = new Fixtures(http);
  const document = JSON.parse((await http.send({ method: 'GET', target: '/v3/openapi.json', headers: [] }, deadlineMs)).body.toString()) as ApiDocument;
  const credentials = await fixtures.credentials();
  const targets = [...targetsOf(document), ...otherTargets, ...(await fixtures.tools())].filter(({ operationId, tags }) => only === undefined || operationId === only || tags?.includes(only));
  if (targets.length === 0) throw new Error(`There is no operation ${String(only)}.`);
  const { schemas } = document.components;

  const excesses: Excess[] = [];
  const costs: Omit<Excess, 'fault'>[] = [];
  const kinds = new Set<string>();
  let tried = 0;
  let sent = 0;
  const send = async ({ operationId, make }: Costly): Promise<number | string> => {
    try {
      return (await (operationId === 'stream' ? stream : http).send(make(sent++), deadlineMs)).status;
    } catch (error) {
      if (error instanceof NoAnswer) return error.reason;
      throw error;
    }
  };
  /** What a request costs at least, of several attempts, with a pause for work that goes on after the answer. */
  const least = async (one: Costly, isJudged: (process: string) => boolean): Promise<{ status: number | string; costs: Map<string, number> }> => {
    const found = new Map<string, number>();
    let status: number | string = '';
    for (let n = 0; n < attempts; n++) {
      await settled();
      const before = meter.read();
      status = await send(one);
      await settled();
      for (const [process, ms] of meter.since(before)) if (isJudged(process)) found.set(process, n === 0 ? ms : Math.min(ms, found.get(process) ?? 0));
      if ([...found.values()].every((ms) => ms <= limitMs)) break;
    }
    return { status, costs: found };
  };
  const examine = async (one: Costly, suspects: ReadonlyMap<string, number>): Promise<void> => {
    const about = { operationId: one.operationId, what: one.what, request: described(one) };
    const exempt = allowed.filter(({ operations }) => operations.includes(one.operationId));
    for (const [process, ms] of suspects) {
      const service = meter.serviceOf(process);
      if (ms <= limitMs || !service || !exempt.some(({ process: which }) => process.startsWith(which))) continue;
      const block = await meter.blockOf(service, attempts, () => send(one));
      if (block && block.ms > limitMs) excesses.push({ ...about, ...block, process, fault: `blocks the event loop for ${block.ms.toFixed(0)} ms` });
    }
    const isJudged = (process: string): boolean => !exempt.some(({ process: which }) => process.startsWith(which));
    if (![...suspects].some(([process, ms]) => ms > limitMs && isJudged(process))) return;
    const { status, costs: found } = await least(one, isJudged);
    for (const [process, ms] of found) if (ms > limitMs) excesses.push({ ...about, status, process, ms, fault: `costs ${ms.toFixed(0)} ms` });
  };

  for (let at = 0; at < targets.length; at += batch) {
    const values = new Values(fc.sample(fc.gen(), { seed: at, numRuns: 1 })[0]!, schemas, await fixtures.known());
    for (const target of targets.slice(at, at + batch)) {
      let previous: Costly | undefined;
      for (const one of costlyRequests(target, values, credentials)) {
        if (isShort && kinds.has(kindOf(one))) continue;
        kinds.add(kindOf(one));
        const before = meter.read();
        const status = await send(one);
        tried++;
        const used = meter.since(before);
        const cost = [...used].sort(([, a], [, b]) => b - a)[0] ?? ['', 0];
        costs.push({ operationId: one.operationId, what: one.what, request: described(one), status, process: cost[0], ms: cost[1] });
        if (cost[1] > limitMs) {
          await examine(one, used);
          // With the same suspects: work that the previous request left behind may have been counted here.
          if (previous) await examine(previous, used);
        }
        previous = one;
      }
      say?.(`${target.operationId}: ${tried} tried, ${excesses.length} too costly`);
    }
  }
  http.close();
  stream.close();
  const costliest = costs.filter(({ ms }) => ms <= limitMs).sort((a, b) => b.ms - a.ms).slice(0, 10);
  return { tried, operations: targets.length, excesses, costliest };
}

/** What is costly, without the place: `body: bytes of letters`. Lists have rules of their own, so each place is one kind. */
const kindOf = ({ operationId, what }: Costly): string => {
  const [place = '', text] = what.split(': ', 2);
  // Messages to tools are read by other code than bodies of the API.
  const whose = operationId.startsWith('tool ') ? 'tool ' : '';
  if (text === '40,000 texts') return `${operationId} ${what}`;
  if (text === undefined) return whose + what.replace(/^(\w+) repeated$|(?<=in )\w+$/, '');
  return `${whose}${place.startsWith('/') ? 'body' : place.endsWith('path') ? 'path' : 'query'}: ${text.replaceAll(/\d+/g, '')}`;
};

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));

function described({ make }: Costly): string {
  const { method, target, headers, body } = make(0);
  const long = headers.filter(([, value]) => value.length > 200).map(([name, value]) => ` ${name}: ${value.slice(0, 60)}… (${value.length})`);
  return `${method} ${target.slice(0, 200)}${target.length > 200 ? `… (${target.length})` : ''}${long.join('')}${body ? ` ${JSON.stringify(body.toString('utf8', 0, 120))}… (${body.length} bytes)` : ''}`;
}

type Reading = ReadonlyMap<string, { readonly name: string; readonly ns: number }>;

/** Reads the processor time of a shop's processes. It does not grow while others use the processor, as a clock does. */
class Meter {
  private readonly services: { readonly label: string; readonly pid: number; readonly opsPort: number }[];

  constructor(private readonly run: Run) {
    this.services = Object.values(run.services).flat();
  }

  serviceOf(label: string): { readonly pid: number; readonly opsPort: number } | undefined {
    return this.services.find((one) => one.label === label);
  }

  /** Processor time so far, by process: the services with all their threads, NATS, and each of Postgres' processes. */
  read(): Reading {
    const { postgres, nats } = this.run;
    const named = [...this.services.map(({ label, pid }) => [label, pid] as const), ['nats', nats.pid] as const];
    const reading = new Map(named.map(([name, pid]) => [String(pid), { name, ns: sum(threadsOf(pid).map((thread) => timeOf(`${pid}/task/${thread}`))) }]));
    for (const pid of this.backends(postgres.pid)) reading.set(pid, { name: 'postgres', ns: timeOf(pid) });
    return reading;
  }

  /** Milliseconds that each process has used since; of Postgres the one that used most. */
  since(before: Reading): Map<string, number> {
    const used = new Map<string, number>();
    for (const [pid, { name, ns }] of this.read()) {
      const ms = (ns - (before.get(pid)?.ns ?? 0)) / 1e6;
      used.set(name, Math.max(ms, used.get(name) ?? 0));
    }
    return used;
  }

  /**
   * The most processor time that a service's main thread takes between two answers to a health check while it serves a request, which is
   * how long others wait. The least of several attempts; undefined if this process was late to see the answers each time.
   */
  async blockOf<Status>({ pid, opsPort }: { readonly pid: number; readonly opsPort: number }, times: number, serve: () => Promise<Status>): Promise<{ status?: Status; ms: number } | undefined> {
    const agent = new Agent({ keepAlive: true });
    const main = `${pid}/task/${pid}`;
    let found: { status?: Status; ms: number } | undefined;
    for (let n = 0; n < times && (found === undefined || found.ms > limitMs); n++) {
      await settled();
      let served = false;
      const serving = serve().finally(() => (served = true));
      let most = 0;
      let wasLate = false;
      for (let before = timeOf(main), own = lateness(), last = false; !last; ) {
        last = served;
        await livez(agent, opsPort);
        const ms = (timeOf(main) - before) / 1e6;
        if (lateness() - own > lateMs) wasLate ||= ms > limitMs;
        else most = Math.max(most, ms);
        before = timeOf(main);
        own = lateness();
      }
      const status = await serving;
      if (most > limitMs || !wasLate) found = { status, ms: Math.min(most, found?.ms ?? Infinity) };
    }
    agent.destroy();
    return found;
  }

  private known: { readonly pids: readonly string[]; readonly at: number } = { pids: [], at: -Infinity };

  /** Postgres' processes: the children of its first one. Found anew each second. */
  private backends(postmaster: number): readonly string[] {
    if (performance.now() - this.known.at > 1_000) {
      const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === postmaster);
      this.known = { pids, at: performance.now() };
    }
    return this.known.pids;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
const textOf = (path: string): string => {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch (error) {
    // A thread or process may end at any time.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
};
const threadsOf = (pid: number): string[] => readdirSync(`/proc/${pid}/task`);
/** Nanoseconds on a processor so far. */
const timeOf = (task: string): number => Number(textOf(`${task}/schedstat`).split(' ')[0] ?? 0);
/** Milliseconds for which this process has run or waited for a processor, so that it could not see an answer. */
const lateness = (): number => sum(textOf(`${process.pid}/task/${process.pid}/schedstat`).split(' ').slice(0, 2).map(Number)) / 1e6;
const parentOf = (pid: string): number => Number(/\) \S (\d+)/.exec(textOf(`${pid}/stat`))?.[1]);

function livez(agent: Agent, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    request({ agent, host: '127.0.0.1', port, path: '/livez' }, (response) => response.resume().once('end', resolve)).once('error', reject).end();
  });
}
