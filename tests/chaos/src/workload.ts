import type { Trial, Customer } from './trial.js';
import type { Client, PlacedBasket } from './client.js';
import { now, pause } from './clock.js';
import { isDone } from './history.js';
import { createAsStaff } from './staff-creations.js';
import type { Random } from './random.js';
import { newMark, withNewKey, withOptionalKey } from './retries.js';
import { useMail, wantMail } from './mail-users.js';
import { revokeOneCredential } from './credential-holders.js';

export interface WorkloadOptions {
  readonly seconds: number;
  readonly customers?: number;
  /** The most requests per second of each customer. */
  readonly perSecond?: number;
  readonly plants?: number;
  readonly unitsEach?: number;
  /** Concurrent users that register, place an order and are deleted at the same time. */
  readonly deletedUsers?: number;
  /** The longest time between such a user's order and the deletion, in milliseconds. */
  readonly deleteWithinMs?: number;
  /** Concurrent users whose credentials are revoked. */
  readonly credentialHolders?: number;
  /** How many of the customers want mail about orders. */
  readonly mailCustomers?: number;
  /** Concurrent users who want such mail for a while. */
  readonly mailUsers?: number;
  /** Share of the mails at which the mail server fails. */
  readonly failingMails?: number;
}

/** Orders by the status that clients last saw. */
export interface KnownOrders {
  readonly placed: number[];
  readonly approved: number[];
  readonly cancelled: number[];
  readonly baskets: PlacedBasket[];
  readonly cancelledBaskets: PlacedBasket[];
}

/** What a customer ordered. */
interface OwnOrders {
  readonly orders: number[];
  readonly baskets: PlacedBasket[];
}

let orderIds = 0;
/** Ids chosen by clients are small; the shop's own begin at 1,000,000,001. */
const nextOrderId = (): number => 1_000 + orderIds++;

/**
 * The workload of most goals. Customers place, read and cancel orders and baskets, with and without ids and keys. Staff take payments,
 * some of them late, ship, deliver and transfer orders, and create plants, users and OAuth clients. Plants are renamed and read; users are
 * deleted; credentials are revoked.
 */
export async function runWorkload(trial: Trial, options: WorkloadOptions): Promise<void> {
  const { seconds, customers = 8, perSecond = 8, plants = 6, deletedUsers = 1, deleteWithinMs = 15, credentialHolders = 1, mailCustomers = 0, mailUsers = 0, failingMails = 0 } = options;
  // Few enough that some plants are sold out at the end, and enough for orders until then.
  const { unitsEach = Math.max(120, Math.round(seconds * 5)) } = options;
  const tag = `workload${trial.random.between(1, 1e9)}`;
  const plantIds: number[] = [];
  for (let n = 0; n < plants; n++) plantIds.push(await trial.plant(unitsEach, [tag]));
  const people = await Promise.all(Array.from({ length: customers }, (_, n) => trial.customer(`customer${n + 1}`)));
  await Promise.all(people.slice(0, mailCustomers).map((one) => wantMail(trial, trial.random.fork(), one)));
  trial.testbed.stack.mail.fail(failingMails);
  const known: KnownOrders = { placed: [], approved: [], cancelled: [], baskets: [], cancelledBaskets: [] };
  const end = now() + seconds * 1_000;
  // Calls during recoveries count as calls outside faults, so on a slow machine a fixed time would be mostly recovery.
  const isOver = (): boolean => now() >= end + trial.faults.delayMs;
  const work = (perSecond: number, step: (random: Random) => Promise<unknown>): Promise<void> => repeat(trial.random.fork(), isOver, perSecond, step);
  // Two at a time of each kind: one may wait until its deadline for a process that was killed.
  const asStaff = (perSecond: number, step: (random: Random) => Promise<unknown>): Promise<void>[] => [1, 2].map(() => work(perSecond / 2, step));
  await Promise.all([
    ...people.map(({ client }) => {
      const own: OwnOrders = { orders: [], baskets: [] };
      return work(perSecond, (random) => actAsCustomer(client, random, plantIds, own, known));
    }),
    ...asStaff(2 * perSecond, (random) => takePayment(trial.staff, random, known)),
    ...asStaff(perSecond, (random) => fulfil(trial.staff, random, known)),
    ...asStaff(2, (random) => transfer(trial.staff, random, known, people)),
    ...asStaff(1, (random) => createAsStaff(trial, random)),
    rename(trial, plantIds, isOver),
    work(perSecond, (random) => readPlants(trial.staff, random, plantIds, tag)),
    ...Array.from({ length: deletedUsers }, () => work(2, (random) => orderAndDelete(trial, random, plantIds, deleteWithinMs))),
    ...Array.from({ length: mailUsers }, () => work(0.5, (random) => useMail(trial, random, plantIds, known))),
    ...Array.from({ length: credentialHolders }, () => work(0.5, (random) => revokeOneCredential(trial, random, random.pick(plantIds)))),
  ]);
}

/** The longest pause without a look at whether the workload is over. */
const longestPauseMs = 250;

/** Repeats a step until the workload is over, at most `perSecond` times a second on average. */
async function repeat(random: Random, isOver: () => boolean, perSecond: number, step: (random: Random) => Promise<unknown>): Promise<void> {
  while (!isOver()) {
    const next = now() + (1_000 / perSecond) * (0.5 + random.next());
    await step(random);
    while (now() < next && !isOver()) await pause(Math.min(next - now(), longestPauseMs));
  }
}

async function actAsCustomer(client: Client, random: Random, plantIds: readonly number[], own: OwnOrders, known: KnownOrders): Promise<void> {
  const dice = random.next();
  if (dice < 0.4 || own.orders.length === 0) {
    const id = await order(client, random, random.pick(plantIds));
    if (id === undefined) return;
    own.orders.push(id);
    known.placed.push(id);
    await client.read(id);
  } else if (dice < 0.55) {
    const basket = await placeBasket(client, random, plantIds);
    if (!basket) return;
    own.baskets.push(basket);
    known.baskets.push(basket);
    await client.readBasket(basket);
  } else if (dice < 0.7) {
    const id = random.pick(own.orders);
    if (isDone((await client.cancel(id)).call)) known.cancelled.push(id);
  } else if (dice < 0.75 && own.baskets.length > 0) {
    const basket = random.pick(own.baskets);
    if (isDone((await client.cancelBasket(basket)).call)) known.cancelledBaskets.push(basket);
  } else if (dice < 0.95) await client.read(random.pick(own.orders));
  else await client.inventory();
}

/** A basket of two to four lines, of which some have the same plant. @returns it if it was accepted */
async function placeBasket(client: Client, random: Random, plantIds: readonly number[]): Promise<PlacedBasket | undefined> {
  const lines = Array.from({ length: random.between(2, 4) }, () => ({ plantId: random.pick(plantIds), quantity: random.between(1, 2) }));
  const mark = newMark(random);
  let basket: PlacedBasket | undefined;
  await withOptionalKey(random, async (key) => {
    const outcome = await client.placeBasket(lines, mark, key);
    basket ??= outcome.basket;
    return outcome;
  });
  return basket;
}

/** @returns the order's id if the order was accepted */
async function order(client: Client, random: Random, plantId: number): Promise<number | undefined> {
  const quantity = random.between(1, 3);
  const wanted = { plantId, quantity, ...(random.chance(0.5) && { id: nextOrderId() }) };
  if (!random.chance(0.5)) {
    const { call } = await client.place(wanted);
    return isDone(call) ? call.answer.order?.id : undefined;
  }
  const outcome = await withNewKey(random, (key) => client.place(wanted, key));
  return outcome && isDone(outcome.call) ? outcome.call.answer.order?.id : undefined;
}

async function takePayment(staff: Client, random: Random, known: KnownOrders): Promise<void> {
  if (random.chance(0.2)) return takePaymentOfBasket(staff, random, known);
  const { placed, approved, cancelled } = known;
  // Some payments come after the cancellation.
  if (random.chance(0.1) && cancelled.length > 0) {
    const [late, reference] = [random.pick(cancelled), `late-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`];
    await withOptionalKey(random, (key) => staff.pay(late, reference, withKey(key)));
    return;
  }
  const orderId = take(random, placed);
  // Some orders stay unpaid, for their customers to cancel.
  if (orderId === undefined || random.chance(0.3)) return;
  const reference = `pay-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;
  if (random.chance(0.15)) await staff.pay(orderId, reference, { outcome: 'failed' });
  const outcome = await withOptionalKey(random, (key) => staff.pay(orderId, reference, withKey(key)));
  if (outcome && isDone(outcome.call)) approved.push(orderId);
}

/** As `takePayment`, for a basket. Its orders are fulfilled and transferred like others once they are paid. */
async function takePaymentOfBasket(staff: Client, random: Random, { baskets, cancelledBaskets, approved }: KnownOrders): Promise<void> {
  const reference = newMark(random);
  if (random.chance(0.2) && cancelledBaskets.length > 0) {
    const late = random.pick(cancelledBaskets);
    await withOptionalKey(random, (key) => staff.payBasket(late, reference, withKey(key)));
    return;
  }
  const basket = take(random, baskets);
  if (!basket || random.chance(0.3)) return;
  if (random.chance(0.15)) await staff.payBasket(basket, reference, { outcome: 'failed' });
  const outcome = await withOptionalKey(random, (key) => staff.payBasket(basket, reference, withKey(key)));
  if (outcome && isDone(outcome.call)) approved.push(...basket.orderIds);
}

async function fulfil(staff: Client, random: Random, { approved }: KnownOrders): Promise<void> {
  const orderId = take(random, approved);
  if (orderId === undefined) return;
  if (random.chance(0.3)) await withOptionalKey(random, (key) => staff.ship(orderId, key));
  await withOptionalKey(random, (key) => staff.deliver(orderId, key));
}

/** Transfers an order that was open when last seen. */
async function transfer(staff: Client, random: Random, { placed, approved }: KnownOrders, people: readonly Customer[]): Promise<void> {
  const open = [...placed.slice(-20), ...approved.slice(-20)];
  if (open.length === 0) return;
  const { username, client } = random.pick(people);
  const orderId = random.pick(open);
  await withOptionalKey(random, (key) => staff.transfer(orderId, { name: client.name, username }, key));
}

const withKey = (key: string | undefined): { key?: string } => (key === undefined ? {} : { key });

/** Removes a random element. */
const take = <T>(random: Random, all: T[]): T | undefined => all.splice(random.between(0, all.length - 1), 1)[0];

/** Renames plants. It is the only writer of their names. */
async function rename({ staff, random }: Trial, plantIds: readonly number[], isOver: () => boolean): Promise<void> {
  const values = new Map<number, number>();
  await repeat(random.fork(), isOver, 5, async (own) => {
    const plantId = own.pick(plantIds);
    const value = (values.get(plantId) ?? 0) + 1;
    values.set(plantId, value);
    await withOptionalKey(own, (key) => staff.rename(plantId, value, key));
    await staff.readPlant(plantId);
  });
}

async function readPlants(staff: Client, random: Random, plantIds: readonly number[], tag: string): Promise<void> {
  const plantId = random.pick(plantIds);
  if (random.chance(0.2)) await staff.inventory();
  else await (random.chance(0.5) ? staff.readPlant(plantId) : staff.findPlant(plantId, tag));
}

/** A new user places an order while being deleted: one of the two requests must be refused. */
async function orderAndDelete(trial: Trial, random: Random, plantIds: readonly number[], deleteWithinMs: number): Promise<void> {
  const user = await trial.register(`deleted${random.between(0, 2 ** 31)}`);
  if (!user) return;
  trial.deletedUsers.add(user.client.name);
  // An earlier order makes the store create the customer's row, which the race must then lock.
  const { call } = await user.client.place({ plantId: random.pick(plantIds), quantity: 1 });
  if (isDone(call) && call.answer.order) await user.client.cancel(call.answer.order.id);
  await deleteWhileOrdering(trial, user, random.pick(plantIds), random.between(0, deleteWithinMs));
}

/** @param afterMs how much later than the order the deletion is sent */
async function deleteWhileOrdering(trial: Trial, user: { username: string; client: Client }, plantId: number, afterMs: number): Promise<void> {
  const placing = user.client.place({ plantId, quantity: 1 });
  await pause(afterMs);
  const { call: deleted } = await trial.staff.deleteUser(user.username);
  const { call } = await placing;
  // If both were accepted the order stays open, so that the snapshots show the violation.
  if (!isDone(call) || isDone(deleted)) return;
  const orderId = call.answer.order?.id;
  if (orderId !== undefined) await trial.staff.cancel(orderId);
}
