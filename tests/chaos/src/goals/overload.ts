import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import type { Arena } from '../arena.js';
import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { now, until } from '../clock.js';
import { type Call, isDone } from '../history.js';
import type { Row } from '../report.js';
import { instancesOf, type Stack } from '../stack.js';
import { steadyCustomer } from '../steady.js';
import { busySeconds, type Goal, judged, openArena, type Trial } from './goal.js';

/** So many connections, each with its next request as soon as it is answered, keep the shop fully busy: bench's P1. */
const busy = 256;
const times = 10;
const recoveryLimitMs = 5_000;
const quickMs = 1_000;
/** Twice what an answer may take. */
const patienceSeconds = 20;
/** No process may need more at its worst: the manifests' limits are twice that and more. */
const memoryLimitMiB = 512;
/** What somebody else asks for a second, while one asks for too much. */
const othersPerSecond = 4;

/** What keeps too much out. Each is tried alone, and so low that ten times as many clients as keep the shop busy meet it. */
interface Limit {
  readonly what: string;
  /** Of gateways; those that they have otherwise are in `usual`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** What those who are too many are told. */
  readonly told?: '503' | '429';
}

const usual = { MAX_IN_FLIGHT: '5000', RATE_LIMIT_PER_MINUTE: '6000000' };

const limits: readonly Limit[] = [
  { what: 'nobody is turned away' },
  { what: `each gateway lets ${busy / 2} in`, settings: { MAX_IN_FLIGHT: `${busy / 2}` }, told: '503' },
  // So few that a slow machine meets it within the 3 s of the shortest flood, too.
  { what: 'one credential, 1,200 a minute', settings: { RATE_LIMIT_PER_MINUTE: '1200' }, told: '429' },
];

const overload: Goal = {
  what: `${times} times as many clients as keep it busy`,
  weight: 4,
  run: async (trial): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const limit of limits) rows.push(await flood(trial, limit));
    return rows;
  },
};

async function flood(trial: Trial, { what, settings, told }: Limit): Promise<Row> {
  const { stack, say } = trial.ground;
  const arena = await openArena(trial, { receivers: 0, sockets: 0 });
  // What others are served, and when all is over, is judged below.
  arena.demands = { servedShare: 0, recoveryMs: Infinity };
  const setTo = async (values: Readonly<Record<string, string>>): Promise<void> => {
    stack.set('gateway', values);
    await Promise.all(instancesOf(stack, 'gateway').map(({ label }) => arena.faults.roll(label)));
  };
  if (settings) await setTo(settings);
  const plantId = await arena.plant(100_000_000);
  const { token } = await arena.customer('greedy');
  const headers = told === '429' ? { authorization: `Bearer ${token}` } : { api_key: 'special-key' };
  const seconds = Math.min(30, Math.max(3, busySeconds(trial) / 5));
  const urls = instancesOf(stack, 'gateway').map(({ port }) => `http://127.0.0.1:${port ?? 0}`);
  const peaks = new Map<string, number>();
  const watching = setInterval(() => notePeaks(stack, peaks), 250);
  const askAsSomebodyElse = told === '429' ? await steadyCustomer(arena, othersPerSecond) : undefined;
  const loading = Promise.all(urls.map((url) => load(url, plantId, headers, seconds, (busy * times) / urls.length)));
  const others = (await askAsSomebodyElse?.(loading)) ?? [];
  const results = await loading;
  clearInterval(watching);
  const recoveryMs = await timeToServe(arena, plantId);
  const codes = countCodes(results);
  // Those that timed out are among them.
  const errors = results.reduce((sum, one) => sum + one.errors, 0);
  const timeouts = results.reduce((sum, one) => sum + one.timeouts, 0);
  const worst = [...peaks].sort(([, a], [, b]) => b - a)[0] ?? ['', 0];
  say(`  ${what}: ${JSON.stringify(Object.fromEntries(codes))}, ${errors} without an answer (${timeouts} after ${patienceSeconds} s); most memory: ${worst[0]} ${worst[1]} MiB`);
  const allowed = ['200', '503', told];
  const served = others.filter(isDone).length;
  const wrong: Violation[] = [
    ...[...codes].filter(([code]) => !allowed.includes(code)).map(([code, count]): Violation => ({ rule: 'answers', what: `${count} answers ${code}` })),
    ...(told !== undefined && !codes.has(told) ? [{ rule: 'answers', what: `nobody was told ${told}: this was not too much` } as const] : []),
    ...(errors > 0 ? [{ rule: 'answers', what: `${errors} requests got no answer` } as const] : []),
    ...others.filter(isLimited).map((call): Violation => ({ rule: 'answers', what: `somebody else, ${describe(call)}: 429` })),
    ...(served < others.length / 2 ? [{ rule: 'answers', what: `of ${others.length} requests of somebody else ${served} were served` } as const] : []),
    ...(recoveryMs > recoveryLimitMs ? [{ rule: 'settled', what: `quick again after ${(recoveryMs / 1_000).toFixed(1)} s` } as const] : []),
    ...(worst[1] > memoryLimitMiB ? [{ rule: 'settled', what: `${worst[0]} took ${worst[1]} MiB` } as const] : []),
  ];
  // What the load generator ordered is not in the record: of it, only the snapshots are judged.
  arena.supplied.clear();
  arena.calls.length = 0;
  const row = await judged('R11', `${overload.what}: ${what}`, arena, wrong);
  if (settings) await setTo(usual);
  const answers = [...codes].map(([code, count]) => `${count} × ${code}`).join(', ');
  const ofOthers = others.length > 0 ? `; ${served} of ${others.length} others served` : '';
  return { ...row, tried: `${busy * times} connections, ${seconds.toFixed(0)} s: ${answers}${ofOthers}; at most ${worst[1]} MiB`, recoveryMs };
}

const isLimited = ({ answer }: Call): boolean => answer !== 'lost' && answer.status === 429;

/** From a process of its own: the relays are in this one. */
function load(url: string, plantId: number, headers: Readonly<Record<string, string>>, seconds: number, connections: number): Promise<autocannon.Result> {
  return autocannon({
    url,
    connections,
    duration: seconds,
    timeout: patienceSeconds,
    workers: 1,
    requests: [
      { method: 'POST', path: '/v3/store/order', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify({ plantId }) },
      { method: 'GET', path: '/v3/store/inventory', headers },
      { method: 'GET', path: `/v3/plant/${plantId}`, headers },
    ],
  });
}

/** How often each status was answered. */
function countCodes(results: readonly autocannon.Result[]): ReadonlyMap<string, number> {
  const codes = new Map<string, number>();
  for (const { statusCodeStats = {} } of results) {
    for (const [code, { count = 0 }] of Object.entries(statusCodeStats)) codes.set(code, (codes.get(code) ?? 0) + count);
  }
  return codes;
}

/** From the end of the load until ten requests in a row are answered quickly. */
async function timeToServe(arena: Arena, plantId: number): Promise<number> {
  const from = now();
  let inARow = 0;
  let since = from;
  await until(async () => {
    const begun = now();
    const { call } = await arena.staff.place({ plantId, quantity: 1 });
    const isQuick = call.answer !== 'lost' && call.answer.status === 200 && call.to - call.from < quickMs;
    if (!isQuick) inARow = 0;
    else if (inARow++ === 0) since = begun;
    return inARow === 10;
  }, 60_000, 20);
  return since - from;
}

function notePeaks(stack: Stack, peaks: Map<string, number>): void {
  for (const { label } of stack.instances) {
    const pid = stack.pidOf(label);
    if (pid === undefined) continue;
    const mib = residentMiB(pid);
    peaks.set(label, Math.max(peaks.get(label) ?? 0, mib));
  }
}

function residentMiB(pid: number): number {
  const [kib] = /(?<=^VmRSS:\s+)\d+/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? ['0'];
  return Math.round(Number(kib) / 1_024);
}

export const overloadGoals: Readonly<Record<string, Goal>> = { R11: overload };
