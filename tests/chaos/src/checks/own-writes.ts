import { type Answered, type Call, type History, isDone } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/**
 * What one request did, the next one sees, whoever answers it. Each name is written by one client with numbers that go up, so a
 * look must tell a number between the last that was acknowledged when it began and the last that was asked for when it ended.
 */
export function checkOwnWrites({ calls }: History): Violation[] {
  const named = calls.filter((call) => call.ask.kind === 'write' || call.ask.kind === 'look');
  const byName = Map.groupBy(named, ({ ask }) => ('name' in ask ? ask.name : ''));
  return [...byName.values()].flatMap((same) => {
    const writes = same.filter(({ ask }) => ask.kind === 'write');
    const looks = same.filter((call): call is Done => call.ask.kind === 'look' && isDone(call)).sort((a, b) => a.to - b.to);
    let seenBefore: { readonly to: number; readonly value: number }[] = [];
    return looks.flatMap((look): Violation[] => {
      const value = look.answer.value ?? 0;
      const acknowledged = highest(writes.filter((write) => isDone(write) && write.to < look.from));
      const asked = highest(writes.filter((write) => write.from < look.to));
      const seen = Math.max(0, ...seenBefore.filter(({ to }) => to < look.from).map((one) => one.value));
      seenBefore = [...seenBefore.slice(-200), { to: look.to, value }];
      if (value < Math.max(acknowledged, seen)) return [{ rule: 'own-writes', what: `${describe(look)}: ${value}, and ${Math.max(acknowledged, seen)} was there before` }];
      return value > asked ? [{ rule: 'own-writes', what: `${describe(look)}: ${value}, which nobody had written` }] : [];
    });
  });
}

type Done = Call & { readonly answer: Answered };

const highest = (writes: readonly Call[]): number => Math.max(0, ...writes.map(({ ask }) => (ask.kind === 'write' ? ask.value : 0)));
