import { type Answered, type Call, type History, isDone } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/**
 * Each request sees the effects of earlier ones, no matter which replica answers. Each name has a single writer whose values
 * increase, so a read must return at least the last value that was acknowledged, or read, before it began, and at most the last one
 * that was requested before it ended.
 */
export function checkOwnWrites({ calls }: History): Violation[] {
  const named = calls.filter((call) => call.request.kind === 'write-name' || call.request.kind === 'read-name');
  const byName = Map.groupBy(named, ({ request }) => ('name' in request ? request.name : ''));
  return [...byName.values()].flatMap((same) => {
    const writes = same.filter(({ request }) => request.kind === 'write-name');
    const reads = same.filter((call): call is DoneCall => call.request.kind === 'read-name' && isDone(call)).sort((a, b) => a.to - b.to);
    let seenBefore: { readonly to: number; readonly value: number }[] = [];
    return reads.flatMap((read): Violation[] => {
      const value = read.answer.value ?? 0;
      const acknowledged = highest(writes.filter((write) => isDone(write) && write.to < read.from));
      const requested = highest(writes.filter((write) => write.from < read.to));
      const seen = Math.max(0, ...seenBefore.filter(({ to }) => to < read.from).map((one) => one.value));
      seenBefore = [...seenBefore.slice(-200), { to: read.to, value }];
      if (value < Math.max(acknowledged, seen)) return [{ rule: 'own-writes', what: `${describe(read)}: ${value}, but ${Math.max(acknowledged, seen)} was known before` }];
      return value > requested ? [{ rule: 'own-writes', what: `${describe(read)}: ${value}, which was never written` }] : [];
    });
  });
}

type DoneCall = Call & { readonly answer: Answered };

const highest = (writes: readonly Call[]): number => Math.max(0, ...writes.map(({ request }) => (request.kind === 'write-name' ? request.value : 0)));
