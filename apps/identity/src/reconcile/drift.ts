import type { KnownCustomer, UserDrift } from '@plant-shop/contracts/reconcile';

/** A user in identity's database. */
export interface ComparedUser {
  readonly userId: string;
  readonly username: string;
  /** A deletion is recorded; the background loop completes it. */
  readonly isBeingDeleted: boolean;
}

export interface Drift {
  readonly userId: string;
  readonly username?: string;
  readonly drift: UserDrift;
}

/**
 * Returns the differences between the store's customers and identity's users. Only the deletion of a user closes a
 * customer, for good; a user who never ordered is no customer; user ids are never reused.
 */
export function driftsOf(customers: readonly KnownCustomer[], users: readonly ComparedUser[]): Drift[] {
  const userOf = new Map(users.map((user) => [user.userId, user]));
  return customers.flatMap(({ userId, closed }): Drift[] => {
    const user = userOf.get(userId);
    if (!user) return closed ? [] : [{ userId, drift: 'user-missing' }];
    return closed && !user.isBeingDeleted ? [{ userId, username: user.username, drift: 'user-deleted' }] : [];
  });
}
