import { DomainError } from '@plant-shop/contracts/errors';
import type { CodedError } from '@plant-shop/platform/errors';
import { type IdempotencyKey, keyReused } from '@plant-shop/platform/idempotency/idempotency-key';
import type { Listing } from '../stock/stock.js';

/** One order as it was asked for, with its id already given or drawn. */
export interface Placing {
  readonly orderId: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly shipDate: Date | null;
  readonly ownerId: string;
  /** Entries with the same key are the same request, sent more than once. */
  readonly idempotency?: IdempotencyKey | undefined;
  /** The span that it is placed in, when that is traced. */
  readonly traceparent?: string | undefined;
}

/** What the batch found under its locks, so that nothing of it can change before the batch commits. */
export interface PlacingFacts {
  readonly closedCustomers: ReadonlySet<string>;
  readonly takenIds: ReadonlySet<number>;
  readonly stock: ReadonlyMap<number, { readonly listing: Listing; readonly free: number }>;
}

export const customerClosed = (): DomainError =>
  new DomainError('customer-closed', 'This account is being deleted and takes no orders any more.');

/**
 * Decides a batch in order of arrival, as if its orders came one at a time: each sees what the accepted ones before it
 * left. A refused one changes nothing, so an order too large never blocks a smaller one after it.
 * @returns for each placing itself when it is accepted, the accepted one that it repeats, or why it is refused
 */
export function decidePlacing<T extends Placing>(placings: readonly T[], facts: PlacingFacts): (T | CodedError)[] {
  const taken = new Set(facts.takenIds);
  const freeLeft = new Map([...facts.stock].map(([plantId, stock]) => [plantId, stock.free]));
  const acceptedByKey = new Map<string, T>();
  return placings.map((placing) => {
    const { orderId, plantId, quantity, ownerId, idempotency } = placing;
    const twin = idempotency && acceptedByKey.get(idempotency.id);
    if (twin) return idempotency.isSameRequest(twin.idempotency) ? twin : keyReused();
    const stock = facts.stock.get(plantId);
    const free = freeLeft.get(plantId) ?? 0;
    if (stock === undefined || stock.listing === 'retired') {
      return new DomainError('plant-not-found', `There is no plant ${plantId}.`);
    }
    if (facts.closedCustomers.has(ownerId)) {
      return customerClosed();
    }
    if (taken.has(orderId)) {
      return new DomainError('order-exists', `The id ${orderId} is taken. Choose another, or send none to get one.`);
    }
    if (stock.listing !== 'available') {
      return new DomainError('plant-not-available', `Plant ${plantId} is listed ${stock.listing} and cannot be ordered.`);
    }
    if (quantity > free) {
      return new DomainError(
        'insufficient-stock',
        `Plant ${plantId} has ${free} free units. Order at most that many, or wait for a cancellation.`,
        { available: free },
      );
    }
    taken.add(orderId);
    freeLeft.set(plantId, free - quantity);
    if (idempotency) acceptedByKey.set(idempotency.id, placing);
    return placing;
  });
}
