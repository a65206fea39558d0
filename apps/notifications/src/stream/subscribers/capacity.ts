/** Part of the limit at which a replica counts as full. Below 1, because balancers notice it seconds later. */
const fullFrom = 0.95;
/** A full replica stays full until it is below this part of the limit, so that it does not flap with each client. */
const freeBelow = 0.9;

/** Returns whether a replica with `open` connections should get no more. */
export const isFull = (wasFull: boolean, open: number, limit: number): boolean => open >= limit * (wasFull ? freeBelow : fullFrom);

/**
 * Returns the maximum age of one connection in milliseconds: random, between half of `maxMs` and all of it, so that connections that
 * began together do not end together.
 */
export const ageLimitMs = (maxMs: number, random: number): number => (maxMs === 0 ? Infinity : maxMs * (1 - random / 2));
