import type { Client, Outcome } from './client.js';
import { now, pause } from './clock.js';
import { type Call, isAnswered, isDone } from './history.js';
import type { Random } from './random.js';

/** How long a client asks again. */
const stubbornMs = 60_000;

/** Asks again with the same key until there is an outcome. @returns the order's id, if it was accepted */
export async function placeStubbornly(client: Client, random: Random, wanted: { plantId: number; quantity: number; id?: number }, key: string): Promise<number | undefined> {
  const outcome = await stubbornly(random, () => client.place(wanted, key));
  return outcome && isDone(outcome.call) ? outcome.call.answer.order?.id : undefined;
}

/** Asks again until there is an outcome. */
export async function stubbornly<B>(random: Random, ask: () => Promise<Outcome<B>>): Promise<Outcome<B> | undefined> {
  const end = now() + stubbornMs;
  while (now() < end) {
    const outcome = await ask();
    if (!comesBack(outcome.call)) return outcome;
    await pause(random.between(50, 250));
  }
  return undefined;
}

/** With a new key, until there is an outcome. The impatient send it twice at once; some send it once more although they know. */
export async function keyed<B>(random: Random, ask: (key: string) => Promise<Outcome<B>>): Promise<Outcome<B> | undefined> {
  const key = `key-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;
  const [outcome] = await Promise.all(Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => stubbornly(random, () => ask(key))));
  if (random.chance(0.3)) await ask(key);
  return outcome;
}

/** With a key or without one. */
export const maybeKeyed = <B>(random: Random, ask: (key?: string) => Promise<Outcome<B>>): Promise<Outcome<B> | undefined> =>
  random.chance(0.5) ? keyed(random, ask) : ask();

/** A name that nothing else has. */
export const markOf = (random: Random): string => `made-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;

/** A call that tells the client that nothing is known, or to come back. */
const comesBack = (call: Call): boolean => !isAnswered(call) || call.answer.status === 503 || call.answer.status === 429;
