import { type Answered, type Call, type History, isAnswered, keyOf, mayHaveHappened } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/**
 * A refusal needs its reason: a plant that is not there was removed, one that is sold out cannot have had the units free at any
 * moment of the call, an id that is taken was asked for before, and an account that takes no orders was being deleted.
 */
export function checkRefusals(history: History): Violation[] {
  const removals = history.calls.filter((call) => call.ask.kind === 'remove' && mayHaveHappened(call));
  const holders = holdersOf(history);
  const placings = Map.groupBy(history.calls.filter(({ ask }) => ask.kind === 'place' && ask.orderId !== undefined), ({ ask }) => (ask.kind === 'place' ? ask.orderId : undefined));
  return history.calls.flatMap((call): Violation[] => {
    if (!isAnswered(call)) return [];
    const found = (what: string): Violation[] => [{ rule: 'refusals', what: `${describe(call)}: ${call.answer.status} ${call.answer.code ?? ''}, and ${what}` }];
    const plantId = plantOf(call);
    const { code } = call.answer;
    if (code === 'plant-not-found' && plantId !== undefined && history.supplied.has(plantId)) {
      const mayBeGone = removals.some(({ ask, from }) => ask.kind === 'remove' && ask.plantId === plantId && from < call.to);
      return mayBeGone || call.ask.kind === 'remove' ? [] : found('the plant is there');
    }
    if (isRevived(call, plantId, removals)) return found('the plant had been removed');
    if (call.ask.kind !== 'place') return [];
    if (code === 'plant-not-available') return found('it is listed available');
    if (code === 'customer-closed' && !history.leavers.has(call.client)) return found('nobody deletes this account');
    if (code === 'order-exists') {
      const others = (placings.get(call.ask.orderId) ?? []).filter((other) => other !== call && !isTwin(other, call) && mayHaveHappened(other));
      return call.ask.orderId === undefined || others.length === 0 ? found('nobody else has asked for this id') : [];
    }
    const units = history.supplied.get(call.ask.plantId);
    if (code !== 'insufficient-stock' || units === undefined) return [];
    const held = mostHeld(holders.get(call.ask.plantId) ?? [], call);
    return units - held >= call.ask.quantity ? found(`of ${units} units at most ${held} were held`) : [];
  });
}

/** Of the same key: it is the same request. */
const isTwin = (one: Call, other: Call): boolean => keyOf(one) !== undefined && keyOf(one) === keyOf(other);

/** A plant that answers after its removal was acknowledged. */
const isRevived = (call: Call & { answer: Answered }, plantId: number | undefined, removals: readonly Call[]): boolean =>
  plantId !== undefined && call.answer.status === 200 && call.ask.kind !== 'remove' &&
  removals.some(({ ask, answer, to }) => ask.kind === 'remove' && ask.plantId === plantId && answer !== 'lost' && answer.status === 200 && to < call.from);

function plantOf({ ask }: Call): number | undefined {
  if (ask.kind === 'place' || ask.kind === 'remove') return ask.plantId;
  return ask.kind === 'look' || ask.kind === 'write' ? Number(/^plant (\d+)$/.exec(ask.name)?.[1] ?? NaN) || undefined : undefined;
}

/** An order's units, and when at most they were held: from the first request for it until somebody was told that it is cancelled. */
interface Holder {
  readonly quantity: number;
  readonly from: number;
  readonly to: number;
}

function holdersOf({ calls, final }: History): ReadonlyMap<number, readonly Holder[]> {
  const begins = new Map<number, number>();
  const ends = new Map<number, number>();
  const byKey = Map.groupBy(calls.filter(({ ask }) => ask.kind === 'place'), (call) => keyOf(call) ?? call.requestId);
  for (const same of byKey.values()) {
    const from = Math.min(...same.map((call) => call.from));
    const ids = same.flatMap(({ ask, answer }) => [ask.kind === 'place' ? ask.orderId : undefined, answer === 'lost' ? undefined : answer.order?.id]);
    for (const id of new Set(ids)) if (id !== undefined) begins.set(id, Math.min(begins.get(id) ?? Infinity, from));
  }
  for (const { answer, to } of calls) {
    if (answer !== 'lost' && answer.order?.status === 'cancelled') ends.set(answer.order.id, Math.min(ends.get(answer.order.id) ?? Infinity, to));
  }
  return Map.groupBy(
    // One whose placing nobody knows the answer of may have been there from the beginning.
    final.orders.map(({ id, plantId, quantity, status }) => {
      const to = status === 'cancelled' ? ends.get(id) : undefined;
      return { plantId, quantity, from: begins.get(id) ?? -Infinity, to: to ?? Infinity };
    }),
    ({ plantId }) => plantId,
  );
}

const mostHeld = (holders: readonly Holder[], call: Call): number =>
  holders.reduce((sum, { quantity, from, to }) => (from < call.to && to > call.from ? sum + quantity : sum), 0);
