import { type Answered, type Call, type History, isAnswered, keyOf, mayHaveHappened } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/**
 * Every refusal has its reason. 404 for a plant: it was removed. Insufficient stock: at no moment of the call were enough units
 * free. Order id taken: another call requested it. Customer closed: the account was being deleted.
 */
export function checkRefusals(history: History): Violation[] {
  const deletions = history.calls.filter((call) => call.request.kind === 'delete-plant' && mayHaveHappened(call));
  const reservations = reservationsOf(history);
  const placeCalls = Map.groupBy(history.calls.filter(({ request }) => request.kind === 'place' && request.orderId !== undefined), ({ request }) => (request.kind === 'place' ? request.orderId : undefined));
  return history.calls.flatMap((call): Violation[] => {
    if (!isAnswered(call)) return [];
    const found = (what: string): Violation[] => [{ rule: 'refusals', what: `${describe(call)}: ${call.answer.status} ${call.answer.code ?? ''}, but ${what}` }];
    const plantId = plantOf(call);
    const { code } = call.answer;
    if (code === 'plant-not-found' && plantId !== undefined && history.supplied.has(plantId)) {
      const mayBeGone = deletions.some(({ request, from }) => request.kind === 'delete-plant' && request.plantId === plantId && from < call.to);
      return mayBeGone || call.request.kind === 'delete-plant' ? [] : found('the plant exists');
    }
    if (isFoundAfterDeletion(call, plantId, deletions)) return found('the plant had been removed');
    if (call.request.kind !== 'place') return [];
    if (code === 'plant-not-available') return found('the plant is for sale');
    if (code === 'customer-closed' && !history.deletedUsers.has(call.client)) return found('this account is not being deleted');
    if (code === 'order-exists') {
      const others = (placeCalls.get(call.request.orderId) ?? []).filter((other) => other !== call && !isSameRequest(other, call) && mayHaveHappened(other));
      return call.request.orderId === undefined || others.length === 0 ? found('no other call requested this id') : [];
    }
    const units = history.supplied.get(call.request.plantId);
    if (code !== 'insufficient-stock' || units === undefined) return [];
    const held = maxHeldUnits(reservations.get(call.request.plantId) ?? [], call);
    return units - held >= call.request.quantity ? found(`of ${units} units at most ${held} were held`) : [];
  });
}

/** Whether both calls have the same key, which makes them the same request. */
const isSameRequest = (one: Call, other: Call): boolean => keyOf(one) !== undefined && keyOf(one) === keyOf(other);

/** Whether a plant was found after its removal was acknowledged. */
const isFoundAfterDeletion = (call: Call & { answer: Answered }, plantId: number | undefined, deletions: readonly Call[]): boolean =>
  plantId !== undefined && call.answer.status === 200 && call.request.kind !== 'delete-plant' &&
  deletions.some(({ request, answer, to }) => request.kind === 'delete-plant' && request.plantId === plantId && answer !== 'lost' && answer.status === 200 && to < call.from);

function plantOf({ request }: Call): number | undefined {
  if (request.kind === 'place' || request.kind === 'delete-plant') return request.plantId;
  return request.kind === 'read-name' || request.kind === 'write-name' ? Number(/^plant (\d+)$/.exec(request.name)?.[1] ?? NaN) || undefined : undefined;
}

/** An order's units and the longest time for which it may have held them: from its first request until an answer shows it cancelled. */
interface Reservation {
  readonly quantity: number;
  readonly from: number;
  readonly to: number;
}

function reservationsOf({ calls, final }: History): ReadonlyMap<number, readonly Reservation[]> {
  const begins = new Map<number, number>();
  const ends = new Map<number, number>();
  const byKey = Map.groupBy(calls.filter(({ request }) => request.kind === 'place'), (call) => keyOf(call) ?? call.requestId);
  for (const same of byKey.values()) {
    const from = Math.min(...same.map((call) => call.from));
    const ids = same.flatMap(({ request, answer }) => [request.kind === 'place' ? request.orderId : undefined, answer === 'lost' ? undefined : answer.order?.id]);
    for (const id of new Set(ids)) if (id !== undefined) begins.set(id, Math.min(begins.get(id) ?? Infinity, from));
  }
  for (const { answer, to } of calls) {
    if (answer !== 'lost' && answer.order?.status === 'cancelled') ends.set(answer.order.id, Math.min(ends.get(answer.order.id) ?? Infinity, to));
  }
  return Map.groupBy(
    // An order without an answered request may have existed from the beginning.
    final.orders.map(({ id, plantId, quantity, status }) => {
      const to = status === 'cancelled' ? ends.get(id) : undefined;
      return { plantId, quantity, from: begins.get(id) ?? -Infinity, to: to ?? Infinity };
    }),
    ({ plantId }) => plantId,
  );
}

const maxHeldUnits = (reservations: readonly Reservation[], call: Call): number =>
  reservations.reduce((sum, { quantity, from, to }) => (from < call.to && to > call.from ? sum + quantity : sum), 0);
