import type { Arena, Customer } from './arena.js';
import type { Client } from './client.js';
import { now, pause } from './clock.js';
import { isDone } from './history.js';
import { office } from './office.js';
import type { Random } from './random.js';
import { keyed, maybeKeyed } from './stubborn.js';
import { visit } from './visitors.js';

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
  /** So many at a time come and lose a credential. */
  readonly visitors?: number;
}

/** Orders as far as somebody knows of them. */
export interface Book {
  readonly placed: number[];
  readonly approved: number[];
  readonly cancelled: number[];
}

let orderIds = 0;
/** Ids that clients choose are small: those that the shop gives begin at 1,000,000,001. */
const nextOrderId = (): number => 1_000 + orderIds++;

/**
 * A shop's day, short: customers order, look and cancel, with and without ids and keys of their own; staff take payments, early
 * and late, ship, deliver, transfer and make things; everybody looks at plants that are renamed; and visitors lose credentials.
 */
export async function trade(arena: Arena, options: TradeOptions): Promise<void> {
  const { seconds, customers = 8, perSecond = 8, plants = 6, leavers = 1, leaveWithinMs = 15, visitors = 1 } = options;
  // Little enough that some plants are sold out in the end, and enough that orders go on until then.
  const { unitsEach = Math.max(120, Math.round(seconds * 5)) } = options;
  const tag = `trade${arena.random.between(1, 1e9)}`;
  const plantIds: number[] = [];
  for (let n = 0; n < plants; n++) plantIds.push(await arena.plant(unitsEach, [tag]));
  const people = await Promise.all(Array.from({ length: customers }, (_, n) => arena.customer(`customer${n + 1}`)));
  const book: Book = { placed: [], approved: [], cancelled: [] };
  const end = now() + seconds * 1_000;
  const work = (perSecond: number, step: (random: Random) => Promise<unknown>): Promise<void> => again(arena.random.fork(), end, perSecond, step);
  await Promise.all([
    ...people.map(({ client }) => {
      const own: number[] = [];
      return work(perSecond, (random) => shop(client, random, plantIds, own, book));
    }),
    ...[1, 2].map(() => work(perSecond, (random) => takePayment(arena.staff, random, book))),
    work(perSecond, (random) => fulfil(arena.staff, random, book)),
    work(2, (random) => transfer(arena.staff, random, book, people)),
    work(1, (random) => office(arena, random)),
    rename(arena, plantIds, end),
    work(perSecond, (random) => look(arena.staff, random, plantIds, tag)),
    ...Array.from({ length: leavers }, () => work(2, (random) => comeAndGo(arena, random, plantIds, leaveWithinMs))),
    ...Array.from({ length: visitors }, () => work(0.5, (random) => visit(arena, random, random.pick(plantIds)))),
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

async function shop(client: Client, random: Random, plantIds: readonly number[], own: number[], book: Book): Promise<void> {
  const dice = random.next();
  if (dice < 0.55 || own.length === 0) {
    const id = await order(client, random, random.pick(plantIds));
    if (id === undefined) return;
    own.push(id);
    book.placed.push(id);
    await client.read(id);
  } else if (dice < 0.75) {
    const id = random.pick(own);
    if (isDone((await client.cancel(id)).call)) book.cancelled.push(id);
  } else if (dice < 0.95) await client.read(random.pick(own));
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
  const outcome = await keyed(random, (key) => client.place(wanted, key));
  return outcome && isDone(outcome.call) ? outcome.call.answer.order?.id : undefined;
}

async function takePayment(staff: Client, random: Random, { placed, approved, cancelled }: Book): Promise<void> {
  // Some come too late.
  if (random.chance(0.1) && cancelled.length > 0) {
    const [late, reference] = [random.pick(cancelled), `late-${random.between(0, 2 ** 31)}`];
    await maybeKeyed(random, (key) => staff.pay(late, reference, withKey(key)));
    return;
  }
  const orderId = take(random, placed);
  // Some wait for their customers to cancel them.
  if (orderId === undefined || random.chance(0.3)) return;
  const reference = `pay-${random.between(0, 2 ** 31)}`;
  if (random.chance(0.15)) await staff.pay(orderId, reference, { outcome: 'failed' });
  const outcome = await maybeKeyed(random, (key) => staff.pay(orderId, reference, withKey(key)));
  if (outcome && isDone(outcome.call)) approved.push(orderId);
}

async function fulfil(staff: Client, random: Random, { approved }: Book): Promise<void> {
  const orderId = take(random, approved);
  if (orderId === undefined) return;
  if (random.chance(0.3)) await maybeKeyed(random, (key) => staff.ship(orderId, key));
  await maybeKeyed(random, (key) => staff.deliver(orderId, key));
}

/** Open orders, mostly; some are closed meanwhile. */
async function transfer(staff: Client, random: Random, { placed, approved }: Book, people: readonly Customer[]): Promise<void> {
  const open = [...placed.slice(-20), ...approved.slice(-20)];
  if (open.length === 0) return;
  const { username, client } = random.pick(people);
  const orderId = random.pick(open);
  await maybeKeyed(random, (key) => staff.transfer(orderId, { name: client.name, username }, key));
}

const withKey = (key: string | undefined): { key?: string } => (key === undefined ? {} : { key });

/** Takes any of them out. */
const take = (random: Random, all: number[]): number | undefined => all.splice(random.between(0, all.length - 1), 1)[0];

/** The only one who writes names. */
async function rename({ staff, random }: Arena, plantIds: readonly number[], end: number): Promise<void> {
  const values = new Map<number, number>();
  await again(random.fork(), end, 5, async (own) => {
    const plantId = own.pick(plantIds);
    const value = (values.get(plantId) ?? 0) + 1;
    values.set(plantId, value);
    await maybeKeyed(own, (key) => staff.rename(plantId, value, key));
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
  const leaver = await arena.newcomer(`leaver${random.between(0, 2 ** 31)}`);
  if (!leaver) return;
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
  const { call: deleted } = await arena.staff.removeUser(leaver.username);
  const { call } = await placing;
  // Where both were accepted the order stays open, for the snapshots to see.
  if (!isDone(call) || isDone(deleted)) return;
  const orderId = call.answer.order?.id;
  if (orderId !== undefined) await arena.staff.cancel(orderId);
}
