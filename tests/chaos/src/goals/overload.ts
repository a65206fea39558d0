import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { becomesTrue } from '@plant-shop/testing/until';
import type { Trial } from '../trial.js';
import { describe } from '../checks/answers.js';
import type { Violation } from '../checks/violation.js';
import { now } from '../clock.js';
import { type Call, isDone } from '../history.js';
import type { Row } from '../report.js';
import { instancesOf, type Stack } from '../stack.js';
import { constantRateLoad } from '../constant-rate.js';
import { busySeconds, type Goal, rowOf, openTrial, type GoalContext } from './goal.js';

/** Connections that saturate the shop when each sends its next request as soon as the last is answered: P1 of the load tests. */
const saturatingConnections = 256;
const overloadFactor = 10;
const recoveryLimitMs = 5_000;
const quickMs = 1_000;
/** Twice the longest allowed response time. */
const requestTimeoutSeconds = 20;
/** The most memory that any process may need; the manifests' limits are at least twice as high. */
const memoryLimitMiB = 512;
/** Rate of another user, while one user exceeds the limit. */
const otherUserPerSecond = 4;

/** A limit against overload. Each is tested alone, and set low enough that ten times the saturating number of clients exceeds it. */
interface Limit {
  readonly what: string;
  /** Settings of the gateways; `defaults` has the values outside this goal. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Status of the requests beyond the limit. */
  readonly rejectedWith?: '503' | '429';
}

const defaults = { MAX_IN_FLIGHT: '5000', CLIENT_IN_FLIGHT_SHARE: '50', RATE_LIMIT_PER_MINUTE: '6000000' };

const limits: readonly Limit[] = [
  { what: 'default limits' },
  { what: `${saturatingConnections / 2} concurrent requests at each gateway`, settings: { MAX_IN_FLIGHT: `${saturatingConnections / 2}`, CLIENT_IN_FLIGHT_SHARE: '100' }, rejectedWith: '503' },
  // Low enough that even a slow machine exceeds it within the 3 s of the shortest flood.
  { what: 'one credential, 1,200 a minute', settings: { RATE_LIMIT_PER_MINUTE: '1200' }, rejectedWith: '429' },
];

const overload: Goal = {
  what: `${overloadFactor} times as many clients as saturate the shop`,
  weight: 4,
  // It takes all cores. Every build floods the shop in tests/acceptance/src/security/overload.spec.ts.
  isLong: true,
  run: async (context): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const limit of limits) rows.push(await flood(context, limit));
    return rows;
  },
};

async function flood(context: GoalContext, { what, settings, rejectedWith }: Limit): Promise<Row> {
  const { stack, say } = context.testbed;
  const trial = await openTrial(context, { receivers: 0, sockets: 0 });
  // The other user's share and the recovery are judged below.
  trial.objectives = { servedShare: 0, recoveryMs: Infinity };
  const restartWith = async (values: Readonly<Record<string, string>>): Promise<void> => {
    stack.set('gateway', values);
    await Promise.all(instancesOf(stack, 'gateway').map(({ label }) => trial.faults.roll(label)));
  };
  if (settings) await restartWith(settings);
  const plantId = await trial.plant(100_000_000);
  const { token } = await trial.customer('greedy');
  const headers = rejectedWith === '429' ? { authorization: `Bearer ${token}` } : { api_key: 'special-key' };
  const seconds = Math.min(30, Math.max(3, busySeconds(context) / 5));
  const urls = instancesOf(stack, 'gateway').map(({ port }) => `http://127.0.0.1:${port ?? 0}`);
  const peaks = new Map<string, number>();
  const watching = setInterval(() => notePeaks(stack, peaks), 250);
  const runOtherUser = rejectedWith === '429' ? await constantRateLoad(trial, otherUserPerSecond) : undefined;
  const loading = Promise.all(urls.map((url) => load(url, plantId, headers, seconds, (saturatingConnections * overloadFactor) / urls.length)));
  const others = (await runOtherUser?.(loading)) ?? [];
  const results = await loading;
  clearInterval(watching);
  const recoveryMs = await timeToServe(trial, plantId);
  const codes = countCodes(results);
  // Includes timeouts.
  const errors = results.reduce((sum, one) => sum + one.errors, 0);
  const timeouts = results.reduce((sum, one) => sum + one.timeouts, 0);
  const worst = [...peaks].sort(([, a], [, b]) => b - a)[0] ?? ['', 0];
  say(`  ${what}: ${JSON.stringify(Object.fromEntries(codes))}, ${errors} without an answer (${timeouts} after ${requestTimeoutSeconds} s); most memory: ${worst[0]} ${worst[1]} MiB`);
  const allowed = ['200', '503', rejectedWith];
  const served = others.filter(isDone).length;
  const wrong: Violation[] = [
    ...[...codes].filter(([code]) => !allowed.includes(code)).map(([code, count]): Violation => ({ rule: 'answers', what: `${count} answers ${code}` })),
    ...(rejectedWith !== undefined && !codes.has(rejectedWith) ? [{ rule: 'answers', what: `no request got ${rejectedWith}: the limit was not exceeded` } as const] : []),
    ...(errors > 0 ? [{ rule: 'answers', what: `${errors} requests got no answer` } as const] : []),
    ...others.filter(isLimited).map((call): Violation => ({ rule: 'answers', what: `another user was limited, ${describe(call)}: 429` })),
    ...(served < others.length ? [{ rule: 'answers', what: `of ${others.length} requests of another user ${served} were served` } as const] : []),
    ...(recoveryMs > recoveryLimitMs ? [{ rule: 'settled', what: `answers were quick again after ${(recoveryMs / 1_000).toFixed(1)} s` } as const] : []),
    ...(worst[1] > memoryLimitMiB ? [{ rule: 'settled', what: `${worst[0]} took ${worst[1]} MiB` } as const] : []),
  ];
  // The load generator's orders are not in the history, so the plant and calls are dropped: only the snapshots are judged.
  trial.supplied.clear();
  trial.calls.length = 0;
  const row = await rowOf('R11', `${overload.what}: ${what}`, trial, wrong);
  if (settings) await restartWith(defaults);
  const answers = [...codes].map(([code, count]) => `${count} × ${code}`).join(', ');
  const ofOthers = others.length > 0 ? `; ${served} of ${others.length} others served` : '';
  return { ...row, tried: `${saturatingConnections * overloadFactor} connections, ${seconds.toFixed(0)} s: ${answers}${ofOthers}; at most ${worst[1]} MiB`, recoveryMs };
}

const isLimited = ({ answer }: Call): boolean => answer !== 'lost' && answer.status === 429;

/** Sends the load from a worker thread: the relays and clients are in this one. */
function load(url: string, plantId: number, headers: Readonly<Record<string, string>>, seconds: number, connections: number): Promise<autocannon.Result> {
  return autocannon({
    url,
    connections,
    duration: seconds,
    timeout: requestTimeoutSeconds,
    workers: 1,
    requests: [
      { method: 'POST', path: '/v3/store/order', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify({ plantId }) },
      { method: 'GET', path: '/v3/store/inventory', headers },
      { method: 'GET', path: `/v3/plant/${plantId}`, headers },
    ],
  });
}

/** Number of answers by status. */
function countCodes(results: readonly autocannon.Result[]): ReadonlyMap<string, number> {
  const codes = new Map<string, number>();
  for (const { statusCodeStats = {} } of results) {
    for (const [code, { count = 0 }] of Object.entries(statusCodeStats)) codes.set(code, (codes.get(code) ?? 0) + count);
  }
  return codes;
}

/** Milliseconds from the end of the load to the first of ten quick answers in a row. */
async function timeToServe(trial: Trial, plantId: number): Promise<number> {
  const from = now();
  let inARow = 0;
  let since = from;
  await becomesTrue(async () => {
    const begun = now();
    const { call } = await trial.staff.place({ plantId, quantity: 1 });
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
