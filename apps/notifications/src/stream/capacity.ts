/** Part of the connections that a replica takes from which on it asks for no more: balancers hear of it seconds later. */
const fullFrom = 0.95;
/** It asks for more again below this part: one client that leaves is no room yet. */
const roomBelow = 0.9;

/** Whether a replica with so many connections should get no more. */
export const isFull = (wasFull: boolean, open: number, most: number): boolean => open >= most * (wasFull ? roomBelow : fullFrom);

/** When a connection has reached its age, in milliseconds from now: between half of the most and all of it, so that those that began together do not end together. */
export const ageLimitMs = (mostMs: number, random: number): number => (mostMs === 0 ? Infinity : mostMs * (1 - random / 2));
