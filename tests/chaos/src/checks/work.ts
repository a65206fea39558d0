import { type Call, type History, isServed, type Window } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** Fewer calls of a kind say nothing about the kind. */
const enough = 20;

/** A process that was killed may be sent a call for so long. */
const noticedAfterMs = 250;
/** A call takes less, if nothing happens to it, also on a machine that does much else. */
const longestWorkMs = 1_000;

/** Work is done: of all calls while nothing is broken, of each kind of them, and soon after each fault. */
export function checkWork({ calls, faults, demands }: History): Violation[] {
  const { servedShare, recoveryMs } = demands;
  const judged = calls.filter(isJudged);
  const quiet = judged.filter((call) => !faults.some(({ from, to }) => call.from >= from && call.from <= to));
  const kinds = Map.groupBy(quiet, ({ ask }) => ask.kind);
  const slowest = slowestRecovery(judged, faults);
  return [
    ...(quiet.length === 0 && servedShare > 0 ? [violation('nothing was asked while no fault was under way')] : lessThan('calls', quiet, servedShare)),
    ...[...kinds].flatMap(([kind, same]) => (same.length < enough ? [] : lessThan(`calls "${kind}"`, same, servedShare / 2))),
    ...(slowest && slowest.ms > recoveryMs ? [violation(`all was served again ${seconds(slowest.ms)} after a fault, and ${seconds(recoveryMs)} are allowed: ${tell(slowest.call)}`)] : []),
    ...[...kinds].flatMap(([kind]) => {
      const drought = longestDrought(judged.filter(({ ask }) => ask.kind === kind), faults);
      return drought && drought.ms > recoveryMs ? [violation(`no call "${kind}" was served for ${seconds(drought.ms)}, faults not counted, and ${seconds(recoveryMs)} are allowed: ${tell(drought.call)}`)] : [];
    }),
  ];
}

/** A call that was not served, and for how long until its end nothing was. */
interface Unserved {
  readonly call: Call;
  readonly ms: number;
}

function lessThan(what: string, calls: readonly Call[], least: number): Violation[] {
  if (calls.length === 0) return [];
  const share = servedShareOf(calls);
  const percent = (one: number): string => `${(one * 100).toFixed(0)} %`;
  return share >= least
    ? []
    : [violation(`of ${calls.length} ${what} while no fault was under way, ${calls.filter(isServed).length} were served, ${percent(share)} by time: fewer than ${percent(least)}`)];
}

/**
 * The share of calls that are served, of which no half second counts for more than ten: refused calls are quick, and a client that
 * is refused makes many of them in the seconds after a fault.
 */
function servedShareOf(calls: readonly Call[]): number {
  const halfSeconds = [...Map.groupBy(calls, ({ from }) => Math.floor(from / 500)).values()];
  const weighed = halfSeconds.map((same) => ({ weight: Math.min(same.length, 10), served: same.filter(isServed).length / same.length }));
  return weighed.reduce((sum, { weight, served }) => sum + weight * served, 0) / weighed.reduce((sum, { weight }) => sum + weight, 0);
}

/** Calls to one replica, which may be dead, are no measure of the shop's. */
const isJudged = ({ ask }: Call): boolean => ask.kind !== 'use';

/**
 * From a fault's end to the end of the last request that was begun after it and not served: that one, and how long. What the next
 * fault met under way is no measure of this one.
 */
export function longestRecovery(calls: readonly Call[], faults: readonly Window[]): { readonly ms: number; readonly what: string } | undefined {
  if (faults.length === 0) return undefined;
  const slowest = slowestRecovery(calls.filter(isJudged), faults);
  return slowest ? { ms: slowest.ms, what: tell(slowest.call) } : { ms: 0, what: 'every call was served' };
}

function slowestRecovery(calls: readonly Call[], faults: readonly Window[]): Unserved | undefined {
  const unserved = calls.filter((call) => !isServed(call));
  return longest(faults.flatMap(({ to }, n) => {
    const end = faults[n + 1]?.from ?? Infinity;
    return unserved.filter((call) => call.from >= to && call.to < end).map((call) => ({ call, ms: call.to - to }));
  }));
}

/**
 * The longest time in which calls were made and none was served, across faults, less the faults' own time. A call that a fault met
 * says nothing of the time that it was waited for.
 */
function longestDrought(calls: readonly Call[], faults: readonly Window[]): Unserved | undefined {
  let since: number | undefined;
  return longest(calls.filter((call) => !isLostTo(call, faults)).sort((a, b) => a.to - b.to).flatMap((call) => {
    if (isServed(call)) {
      since = undefined;
      return [];
    }
    const begin = (since ??= call.from);
    const underFaults = faults.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, call.to) - Math.max(from, begin)), 0);
    return [{ call, ms: call.to - begin - underFaults }];
  }));
}

/** Whatever carried it or carried it out was killed: nobody knows its outcome, and its client waits until its deadline. */
const isLostTo = ({ from, to, answer }: Call, faults: readonly Window[]): boolean =>
  (answer === 'lost' || answer.code === 'outcome-unknown') &&
  faults.some((fault) => fault.from >= from - noticedAfterMs && fault.from <= Math.min(to, from + longestWorkMs));

const longest = (all: readonly Unserved[]): Unserved | undefined => all.reduce<Unserved | undefined>((worst, one) => (worst && worst.ms >= one.ms ? worst : one), undefined);
const tell = (call: Call): string => `${describe(call)} took ${seconds(call.to - call.from)} and got ${call.answer === 'lost' ? `no answer (${call.why ?? ''})` : `${call.answer.status} ${call.answer.code ?? ''}`}`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const violation = (what: string): Violation => ({ rule: 'work', what });
