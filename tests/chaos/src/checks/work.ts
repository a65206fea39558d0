import { type Call, type History, isServed, type Window } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** Kinds with fewer calls are not judged on their own. */
const minCalls = 20;

/** Calls may still be sent to a killed process for this long. */
const noticedAfterMs = 250;
/** The longest duration of a call that no fault disturbs, even on a busy machine. */
const maxUndisturbedMs = 1_000;

/** The shop serves the required share of all calls and of each kind outside faults, and recovers soon after each fault. */
export function checkWork({ calls, faults, addedRests, objectives }: History): Violation[] {
  const { servedShare, recoveryMs } = objectives;
  const rowOf = calls.filter(isJudged);
  // Faults that come late must not raise the share, so what was served in the added rests does not count.
  const quiet = rowOf.filter((call) => !beginsIn(faults, call) && !(isServed(call) && beginsIn(addedRests, call)));
  const kinds = Map.groupBy(quiet, ({ request }) => request.kind);
  const slowest = slowestRecovery(rowOf, faults);
  return [
    ...(quiet.length === 0 && servedShare > 0 ? [violation('no call was made outside faults')] : shareBelow('calls', quiet, servedShare)),
    ...[...kinds].flatMap(([kind, same]) => (same.length < minCalls ? [] : shareBelow(`calls "${kind}"`, same, servedShare / 2))),
    ...(slowest && slowest.ms > recoveryMs ? [violation(`everything was served ${seconds(slowest.ms)} after a fault, ${seconds(recoveryMs)} are allowed: ${describeOutcome(slowest.call)}`)] : []),
    ...[...kinds].flatMap(([kind]) => {
      const period = longestUnservedPeriod(rowOf.filter(({ request }) => request.kind === kind), faults);
      return period && period.ms > recoveryMs ? [violation(`no call "${kind}" was served for ${seconds(period.ms)} outside faults, ${seconds(recoveryMs)} are allowed: ${describeOutcome(period.call)}`)] : [];
    }),
  ];
}

const beginsIn = (windows: readonly Window[], call: Call): boolean => windows.some(({ from, to }) => call.from >= from && call.from <= to);

/** A call that was not served, at the end of a period of `ms` without a served one. */
interface Unserved {
  readonly call: Call;
  readonly ms: number;
}

function shareBelow(what: string, calls: readonly Call[], least: number): Violation[] {
  if (calls.length === 0) return [];
  const share = servedShareOf(calls);
  const percent = (one: number): string => `${(one * 100).toFixed(0)} %`;
  return share >= least
    ? []
    : [violation(`of ${calls.length} ${what} outside faults, ${calls.filter(isServed).length} were served, ${percent(share)} weighted by time: less than ${percent(least)}`)];
}

/**
 * The share of served calls, in which no half second counts for more than ten calls: refusals are quick, so a refused client makes
 * many of them in the seconds after a fault.
 */
function servedShareOf(calls: readonly Call[]): number {
  const halfSeconds = [...Map.groupBy(calls, ({ from }) => Math.floor(from / 500)).values()];
  const weighed = halfSeconds.map((same) => ({ weight: Math.min(same.length, 10), served: same.filter(isServed).length / same.length }));
  return weighed.reduce((sum, { weight, served }) => sum + weight * served, 0) / weighed.reduce((sum, { weight }) => sum + weight, 0);
}

/** Calls to a single replica are not judged: it may be dead. */
const isJudged = ({ request }: Call): boolean => request.kind !== 'use';

/**
 * The longest time from a fault's end to the end of the last unserved call that began after it, with a description of that call.
 * Calls that were still in flight when the next fault began are ignored.
 */
export function longestRecovery(calls: readonly Call[], faults: readonly Window[]): { readonly ms: number; readonly what: string } | undefined {
  if (faults.length === 0) return undefined;
  const slowest = slowestRecovery(calls.filter(isJudged), faults);
  return slowest ? { ms: slowest.ms, what: describeOutcome(slowest.call) } : { ms: 0, what: 'every call was served' };
}

function slowestRecovery(calls: readonly Call[], faults: readonly Window[]): Unserved | undefined {
  const unserved = calls.filter((call) => !isServed(call));
  return longest(faults.flatMap(({ to }, n) => {
    const end = faults[n + 1]?.from ?? Infinity;
    return unserved.filter((call) => call.from >= to && call.to < end).map((call) => ({ call, ms: call.to - to }));
  }));
}

/**
 * The longest period in which calls were made and none was served, across faults, minus the duration of the faults. Calls that were
 * lost to a fault are ignored: their waiting time says nothing about the shop.
 */
function longestUnservedPeriod(calls: readonly Call[], faults: readonly Window[]): Unserved | undefined {
  let since: number | undefined;
  return longest(calls.filter((call) => !isLostToFault(call, faults)).sort((a, b) => a.to - b.to).flatMap((call) => {
    if (isServed(call)) {
      since = undefined;
      return [];
    }
    const begin = (since ??= call.from);
    const underFaults = faults.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, call.to) - Math.max(from, begin)), 0);
    return [{ call, ms: call.to - begin - underFaults }];
  }));
}

/** Whether a fault hit a process or connection that the call depended on: its outcome is unknown, and its client waited for it. */
const isLostToFault = ({ from, to, answer }: Call, faults: readonly Window[]): boolean =>
  (answer === 'lost' || answer.code === 'outcome-unknown') &&
  faults.some((fault) => fault.from >= from - noticedAfterMs && fault.from <= Math.min(to, from + maxUndisturbedMs));

const longest = (all: readonly Unserved[]): Unserved | undefined => all.reduce<Unserved | undefined>((worst, one) => (worst && worst.ms >= one.ms ? worst : one), undefined);
const describeOutcome = (call: Call): string => `${describe(call)} took ${seconds(call.to - call.from)} and got ${call.answer === 'lost' ? `no answer (${call.why ?? ''})` : `${call.answer.status} ${call.answer.code ?? ''}`}`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const violation = (what: string): Violation => ({ rule: 'work', what });
