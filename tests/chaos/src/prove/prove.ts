import { Arena, openGround } from '../arena.js';
import type { Violation } from '../checks/violation.js';
import { prepareLibrary } from '../library.js';
import { describeFault, type Fault } from '../plan.js';
import { Random } from '../random.js';
import { describeViolations } from '../report.js';
import type { Stack } from '../stack.js';
import { trade, type TradeOptions } from '../trade.js';
import { type Bug, bugs } from './bugs.js';
import type { BuildCopy } from './build-copy.js';

export interface Proof {
  readonly copy: BuildCopy;
  /** A new shop on new data, run from the copy. */
  readonly openStack: () => Promise<Stack>;
  readonly seed: number;
  /** Ids of bugs; none: all, and the code as it is. */
  readonly only: readonly string[];
  readonly say: (line: string) => void;
}

/** What `--prove` calls the code without a bug. */
const asItIs = 'none';

export const proofNames: readonly string[] = [asItIs, ...bugs.map(({ id }) => id)];

const seconds = 10;
/** For the faults of all bugs, one after the other. */
const secondsAsItIs = 30;
/** What is stuck is stuck: nobody waits a minute for it with each bug. */
const settleLimitMs = 12_000;

/**
 * A checker that never says no proves nothing: each bug must be caught, by a rule that is about it, and the same short trial of
 * the code as it is must find nothing, with the faults of all of them.
 */
export async function prove(proof: Proof): Promise<{ passed: number; failed: number }> {
  const { say, only } = proof;
  const lines: { readonly name: string; readonly isGood: boolean; readonly found: string }[] = [];
  const isChosen = (id: string): boolean => only.length === 0 || only.includes(id);
  const faults = [...new Map(bugs.flatMap((bug) => bug.faults ?? []).map((fault) => [describeFault(fault), fault])).values()].sort((a, b) => a.atMs - b.atMs);
  if (isChosen(asItIs)) {
    const clean = [
      ...(await trial(proof, faults, (arena) => tradeIn(arena, { seconds: secondsAsItIs }))),
      ...(await trial(proof, [], (arena) => libraryIn(arena, seconds))),
    ];
    if (clean.length > 0) say(describeViolations(clean));
    lines.push({ name: 'the code as it is', isGood: clean.length === 0, found: clean.length === 0 ? 'nothing' : rulesOf(clean) });
  }
  for (const bug of bugs.filter(({ id }) => isChosen(id))) {
    say(`${bug.id}: ${bug.name}`);
    const { isGood, found } = await attempt(proof, bug);
    say(`  ${isGood ? 'caught' : 'NOT CAUGHT'}: ${found}`);
    lines.push({ name: `${bug.id}: ${bug.name}`, isGood, found: found.split('\n')[0] ?? '' });
  }
  const width = Math.max(...lines.map(({ name }) => name.length));
  say(`\n${lines.map(({ name, isGood, found }) => `${isGood ? 'ok    ' : 'WRONG '} ${name.padEnd(width)}  ${found}`).join('\n')}`);
  const failed = lines.filter(({ isGood }) => !isGood).length;
  return { passed: lines.length - failed, failed };
}

async function attempt(proof: Proof, { edits, breaks, faults = [], trade = {}, isOfLibrary = false }: Bug): Promise<{ isGood: boolean; found: string }> {
  let undo: () => void;
  try {
    undo = proof.copy.apply(edits);
  } catch (error) {
    return { isGood: false, found: String(error instanceof Error ? error.message : error) };
  }
  try {
    const violations = await trial(proof, faults, (arena) => (isOfLibrary ? libraryIn(arena, seconds) : tradeIn(arena, trade)));
    const isGood = violations.some(({ rule }) => breaks.includes(rule));
    return { isGood, found: violations.length === 0 ? 'nothing' : rulesOf(violations) };
  } finally {
    undo();
  }
}

const tradeIn = (arena: Arena, options: Partial<TradeOptions>): Promise<void> =>
  trade(arena, { seconds, customers: 6, perSecond: 12, plants: 2, unitsEach: 400, ...options });

/** Consumers have work at nearly all times, so that they are killed in the middle of it. */
async function libraryIn(arena: Arena, seconds: number): Promise<void> {
  const use = await prepareLibrary(arena, { orders: seconds * 20, perSecond: 20, workMs: 30 });
  await use();
}

async function trial({ copy, openStack, seed, say }: Proof, faults: readonly Fault[], work: (arena: Arena) => Promise<void>): Promise<readonly Violation[]> {
  const stack = await openStack();
  const ground = await openGround(stack, () => undefined, copy.library);
  try {
    const arena = await Arena.open(ground, new Random(seed), { receivers: 1, sockets: 2 });
    await arena.faults.carryOut(faults, work(arena));
    const { violations } = await arena.judge(settleLimitMs);
    return violations;
  } catch (error) {
    say(`  ${String(error)}`);
    return [{ rule: 'settled', what: `the trial broke off: ${String(error)}` }];
  } finally {
    ground.close();
    await stack.end();
  }
}

function rulesOf(violations: readonly Violation[]): string {
  const counts = Map.groupBy(violations, ({ rule }) => rule);
  return [...counts].map(([rule, { length }]) => `${rule} ${length}`).join(', ');
}
