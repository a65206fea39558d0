import type { KnownCustomer, UserDrift } from '@plant-shop/contracts/reconcile';

/** A user as identity has them. */
export interface ComparedUser {
  readonly userId: string;
  readonly username: string;
  /** They are being deleted: that goes on by itself. */
  readonly isUnderWay: boolean;
}

export interface Drift {
  readonly userId: string;
  readonly username?: string;
  readonly drift: UserDrift;
}

/**
 * What differs between the store's customers and the users that are there. A customer is closed for good, and only by a
 * deletion; a user who never ordered is no customer. Ids of users are never used again.
 */
export function driftsOf(customers: readonly KnownCustomer[], users: readonly ComparedUser[]): Drift[] {
  const userOf = new Map(users.map((user) => [user.userId, user]));
  return customers.flatMap(({ userId, closed }): Drift[] => {
    const user = userOf.get(userId);
    if (!user) return closed ? [] : [{ userId, drift: 'user-missing' }];
    return closed && !user.isUnderWay ? [{ userId, username: user.username, drift: 'user-deleted' }] : [];
  });
}

export function seenTwice(first: readonly Drift[], second: readonly Drift[]): Drift[] {
  const known = new Set(first.map(({ userId, drift }) => `${userId} ${drift}`));
  return second.filter(({ userId, drift }) => known.has(`${userId} ${drift}`));
}
