import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import type { Arena } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import { now, until } from '../clock.js';
import type { Row } from '../report.js';
import { instancesOf, type Stack } from '../stack.js';
import { type Goal, judged, openArena } from './goal.js';

/** So many connections, each with its next request as soon as it is answered, keep the shop fully busy: bench's P1. */
const busy = 256;
const times = 10;
const recoveryLimitMs = 5_000;
const quickMs = 1_000;
/** No process may need more at its worst: the manifests' limits are twice that and more. */
const memoryLimitMiB = 512;

/** Ten times as many clients as keep the shop fully busy. */
const overload: Goal = {
  what: `${times} times as many clients as keep it busy`,
  weight: 0,
  run: async (trial): Promise<Row[]> => {
    const { stack, gatewayUrl, say } = trial.ground;
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    const plantId = await arena.plant(100_000_000);
    const urls = instancesOf(stack, 'gateway').map(({ port }) => `http://127.0.0.1:${port ?? 0}`);
    const peaks = new Map<string, number>();
    const watching = setInterval(() => notePeaks(stack, peaks), 250);
    const results = await Promise.all(urls.map((url) => load(url, plantId, trial.isShort ? 5 : 30, (busy * times) / urls.length)));
    clearInterval(watching);
    const recoveryMs = await timeToServe(arena, plantId);
    const codes = new Map<string, number>();
    for (const { statusCodeStats = {} } of results) for (const [code, { count }] of Object.entries(statusCodeStats)) codes.set(code, (codes.get(code) ?? 0) + (count ?? 0));
    const errors = results.reduce((sum, { errors, timeouts }) => sum + errors + timeouts, 0);
    const worst = [...peaks].sort(([, a], [, b]) => b - a)[0] ?? ['', 0];
    say(`  ${gatewayUrl}: ${JSON.stringify(Object.fromEntries(codes))}, ${errors} without an answer; most memory: ${worst[0]} ${worst[1]} MiB`);
    const wrong: Violation[] = [
      ...[...codes].filter(([code]) => !['200', '429', '503'].includes(code)).map(([code, count]): Violation => ({ rule: 'answers', what: `${count} answers ${code}` })),
      ...(errors > 0 ? [{ rule: 'answers', what: `${errors} requests got no answer` } as const] : []),
      ...(recoveryMs > recoveryLimitMs ? [{ rule: 'settled', what: `quick again after ${(recoveryMs / 1_000).toFixed(1)} s` } as const] : []),
      ...(worst[1] > memoryLimitMiB ? [{ rule: 'settled', what: `${worst[0]} took ${worst[1]} MiB` } as const] : []),
    ];
    const requests = results.reduce((sum, one) => sum + one.requests.total, 0);
    // What the load generator ordered is not in the record: of it, only the snapshots are judged.
    arena.supplied.clear();
    arena.calls.length = 0;
    const row = await judged('R11', overload.what, arena, wrong);
    return [{ ...row, tried: `${requests} requests on ${busy * times} connections`, recoveryMs }];
  },
};

/** From a process of its own: the relays are in this one. */
function load(url: string, plantId: number, seconds: number, connections: number): Promise<autocannon.Result> {
  return autocannon({
    url,
    connections,
    duration: seconds,
    timeout: 20,
    workers: 1,
    requests: [
      { method: 'POST', path: '/v3/store/order', headers: { api_key: 'special-key', 'content-type': 'application/json' }, body: JSON.stringify({ plantId }) },
      { method: 'GET', path: '/v3/store/inventory', headers: { api_key: 'special-key' } },
      { method: 'GET', path: `/v3/plant/${plantId}` },
    ],
  });
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
