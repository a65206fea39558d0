import type { Arena } from './arena.js';
import { comesBack } from './arena.js';
import type { Client } from './client.js';
import { now, pause } from './clock.js';
import { isDone } from './history.js';
import type { Random } from './random.js';

export interface TradeOptions {
  readonly seconds: number;
  readonly customers?: number;
  /** Requests a second of each customer, at most. */
  readonly perSecond?: number;
  readonly plants?: number;
  readonly unitsEach?: number;
  /** So many at a time come, order, and want to be deleted meanwhile. */
  readonly leavers?: number;
  /** How long after their order their deletion is sent, at most. */
  readonly leaveWithinMs?: number;
}

/** How long a client asks again with the same Idempotency-Key. */
const stubbornMs = 60_000;
let orderIds = 0;
/** Ids that clients choose are small: those that the shop gives begin at 1,000,000,001. */
const nextOrderId = (): number => 1_000 + orderIds++;

/**
 * A shop's day, short: customers order, look and cancel, with and without ids and keys of their own; staff take payments,
 * deliver and rename plants, and everybody looks at them.
 */
export async function trade(arena: Arena, options: TradeOptions): Promise<void> {
  const { seconds, customers = 8, perSecond = 8, plants = 6, leavers = 1, leaveWithinMs = 15 } = options;
  // Little enough that some plants are sold out in the end, and enough that orders go on until then.
  const { unitsEach = Math.max(120, Math.round(seconds * 5)) } = options;
  const tag = `trade${arena.random.between(1, 1e9)}`;
  const plantIds: number[] = [];
  for (let n = 0; n < plants; n++) plantIds.push(await arena.plant(unitsEach, [tag]));
  const people = await Promise.all(Array.from({ length: customers }, (_, n) => arena.customer(`customer${n + 1}`)));
  const placed: number[] = [];
  const approved: number[] = [];
  const end = now() + seconds * 1_000;
  const work = (perSecond: number, step: (random: Random) => Promise<unknown>): Promise<void> => again(arena.random.fork(), end, perSecond, step);
  await Promise.all([
    ...people.map(({ client }) => {
      const own: number[] = [];
      return work(perSecond, (random) => shop(client, random, plantIds, own, placed));
    }),
    ...[1, 2].map(() => work(perSecond, (random) => takePayment(arena.staff, random, placed, approved))),
    work(perSecond, (random) => deliver(arena.staff, random, approved)),
    rename(arena, plantIds, end),
    work(perSecond, (random) => look(arena.staff, random, plantIds, tag)),
    ...Array.from({ length: leavers }, () => work(2, (random) => comeAndGo(arena, random, plantIds, leaveWithinMs))),
  ]);
}

/** Does a step again and again, not more often than asked for. */
async function again(random: Random, end: number, perSecond: number, step: (random: Random) => Promise<unknown>): Promise<void> {
  while (now() < end) {
    const next = now() + (1_000 / perSecond) * (0.5 + random.next());
    await step(random);
    await pause(Math.min(next, end) - now());
  }
}

async function shop(client: Client, random: Random, plantIds: readonly number[], own: number[], placed: number[]): Promise<void> {
  const dice = random.next();
  if (dice < 0.55 || own.length === 0) {
    const id = await order(client, random, random.pick(plantIds));
    if (id === undefined) return;
    own.push(id);
    placed.push(id);
    await client.read(id);
  } else if (dice < 0.75) await client.cancel(random.pick(own));
  else if (dice < 0.95) await client.read(random.pick(own));
  else await client.inventory();
}

/** @returns the order's id, if it is known */
async function order(client: Client, random: Random, plantId: number): Promise<number | undefined> {
  const quantity = random.between(1, 3);
  const wanted = { plantId, quantity, ...(random.chance(0.5) && { id: nextOrderId() }) };
  if (!random.chance(0.5)) {
    const { call } = await client.place(wanted);
    return isDone(call) ? call.answer.order?.id : undefined;
  }
  const key = newKey(random);
  // The impatient send it twice at once.
  const [id] = await Promise.all(Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => placeStubbornly(client, random, wanted, key)));
  return id;
}

/** Asks again with the same key until there is an outcome. */
export async function placeStubbornly(client: Client, random: Random, wanted: { plantId: number; quantity: number; id?: number }, key: string): Promise<number | undefined> {
  const end = now() + stubbornMs;
  while (now() < end) {
    const { call } = await client.place(wanted, key);
    if (isDone(call)) return call.answer.order?.id;
    if (!comesBack(call)) return undefined;
    await pause(random.between(50, 250));
  }
  return undefined;
}

const newKey = (random: Random): string => `key-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;

async function takePayment(staff: Client, random: Random, placed: number[], approved: number[]): Promise<void> {
  const orderId = placed.splice(random.between(0, placed.length - 1), 1)[0];
  // Some wait for their customers to cancel them.
  if (orderId === undefined || random.chance(0.3)) return;
  const { call } = await staff.pay(orderId, `pay-${random.between(0, 2 ** 31)}`);
  if (isDone(call)) approved.push(orderId);
}

async function deliver(staff: Client, random: Random, approved: number[]): Promise<void> {
  const orderId = approved.splice(random.between(0, approved.length - 1), 1)[0];
  if (orderId !== undefined) await staff.deliver(orderId);
}

/** The only one who writes names. */
async function rename({ staff, random }: Arena, plantIds: readonly number[], end: number): Promise<void> {
  const values = new Map<number, number>();
  await again(random.fork(), end, 5, async (own) => {
    const plantId = own.pick(plantIds);
    const value = (values.get(plantId) ?? 0) + 1;
    values.set(plantId, value);
    await staff.rename(plantId, value);
    await staff.lookAt(plantId);
  });
}

async function look(staff: Client, random: Random, plantIds: readonly number[], tag: string): Promise<void> {
  const plantId = random.pick(plantIds);
  if (random.chance(0.2)) await staff.inventory();
  else await (random.chance(0.5) ? staff.lookAt(plantId) : staff.lookFor(plantId, tag));
}

/** A user who is being deleted places an order at the same time: one of the two is refused. */
async function comeAndGo(arena: Arena, random: Random, plantIds: readonly number[], leaveWithinMs: number): Promise<void> {
  const leaver = await arena.customer(`leaver${random.between(0, 2 ** 31)}`);
  arena.leavers.add(leaver.client.name);
  // Whoever has ordered before is known to the store, and must be locked there.
  const { call } = await leaver.client.place({ plantId: random.pick(plantIds), quantity: 1 });
  if (isDone(call) && call.answer.order) await leaver.client.cancel(call.answer.order.id);
  await leaveWhileOrdering(arena, leaver, random.pick(plantIds), random.between(0, leaveWithinMs));
}

/** @param afterMs how much later than the order the deletion is sent */
export async function leaveWhileOrdering(arena: Arena, leaver: { username: string; client: Client }, plantId: number, afterMs: number): Promise<void> {
  const placing = leaver.client.place({ plantId, quantity: 1 });
  await pause(afterMs);
  const { call: deleted } = await arena.staff.other('DELETE', `/v3/user/${leaver.username}`);
  const { call } = await placing;
  // Where both were accepted the order stays open, for the snapshots to see.
  if (!isDone(call) || isDone(deleted)) return;
  const orderId = call.answer.order?.id;
  if (orderId !== undefined) await arena.staff.cancel(orderId);
}
