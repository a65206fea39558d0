import type { Client, Outcome, PlacedBasket } from './client.js';
import { now, pause } from './clock.js';
import { type Call, isAnswered, isDone } from './history.js';
import type { Random } from './random.js';

/** How long a client retries. */
const retryForMs = 60_000;

/** Places an order, with retries under the same key. @returns the order's id if it was accepted */
export async function placeWithRetries(client: Client, random: Random, wanted: { plantId: number; quantity: number; id?: number }, key: string): Promise<number | undefined> {
  const outcome = await withRetries(random, () => client.place(wanted, key));
  return outcome && isDone(outcome.call) ? outcome.call.answer.order?.id : undefined;
}

/** Places a basket, with retries under the same key. @returns the basket if it was accepted */
export async function placeBasketWithRetries(client: Client, random: Random, lines: readonly { plantId: number; quantity: number }[], key: string): Promise<PlacedBasket | undefined> {
  let basket: PlacedBasket | undefined;
  await withRetries(random, async () => {
    const outcome = await client.placeBasket(lines, `basket of ${key}`, key);
    basket = outcome.basket;
    return outcome;
  });
  return basket;
}

/** Pauses before a retry. Shorter than `Retry-After` asks for, to repeat more requests. */
const impatient = { from: 50, to: 250 };
/** As `Retry-After: 1` asks for. */
export const asAsked = { from: 1_000, to: 1_250 };

/** Repeats a request until its outcome is known. @returns undefined if it is unknown after a minute */
export async function withRetries<B>(random: Random, ask: () => Promise<Outcome<B>>, pauseMs = impatient): Promise<Outcome<B> | undefined> {
  const end = now() + retryForMs;
  while (now() < end) {
    const outcome = await ask();
    if (!isRetryable(outcome.call)) return outcome;
    await pause(random.between(pauseMs.from, pauseMs.to));
  }
  return undefined;
}

/**
 * Sends a request with a new key until its outcome is known. 30 % of the requests are sent twice at once, and 30 % once more after
 * their outcome is known.
 */
export async function withNewKey<B>(random: Random, ask: (key: string) => Promise<Outcome<B>>): Promise<Outcome<B> | undefined> {
  const key = `key-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;
  const [outcome] = await Promise.all(Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => withRetries(random, () => ask(key))));
  if (random.chance(0.3)) await ask(key);
  return outcome;
}

/** Sends a request with a new key, or once without a key. */
export const withOptionalKey = <B>(random: Random, ask: (key?: string) => Promise<Outcome<B>>): Promise<Outcome<B> | undefined> =>
  random.chance(0.5) ? withNewKey(random, ask) : ask();

/** A unique name. */
export const newMark = (random: Random): string => `created-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;

/** Whether the outcome is unknown, or the answer says to retry later. */
const isRetryable = (call: Call): boolean => !isAnswered(call) || call.answer.status === 503 || call.answer.status === 429;
