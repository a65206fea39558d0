import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Shop } from '@plant-shop/client';
import { Cell } from '../../shop/cell.js';
import type { Order } from '../../shop/day.js';
import type { LiveEvents, LiveMessage, LiveState } from '../../shop/live-events.js';
import { OrderList } from './order-list.js';

const answerMs = 400;
/** Longer than events wait. */
const slowMs = 4_000;
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A shop whose answers are as old as they took, and whose events come at once. */
class FakeShop {
  readonly orders = new Map<number, Order>();
  readonly state = new Cell<LiveState>('live');
  reads = 0;
  answerMs = answerMs;
  isBroken = false;
  private listener: ((message: LiveMessage) => void) | undefined;
  private opening = Promise.withResolvers<undefined>();

  readonly live = {
    state: this.state,
    opened: () => this.opening.promise,
    subscribe: (listener: (message: LiveMessage) => void) => {
      this.listener = listener;
      return () => undefined;
    },
  } as unknown as LiveEvents;

  readonly shop = {
    list: (_path: string, { limit }: { limit: number }) => this.pages(limit),
    GET: (_path: string, { params }: { params: { path: { orderId: number } } }) => this.get(params.path.orderId),
  } as unknown as Shop;

  pay(id: number): void {
    this.orders.set(id, { id, plantId: 1, quantity: 1, status: 'approved', complete: false, placedAt: new Date(Date.UTC(2026, 0, 1) + id * 1_000).toISOString(), updatedAt: '2026-02-01T00:00:00.000Z' });
    this.tell({ event: 'order.status_changed', cursor: 'c', timestamp: '2026-02-01T00:00:00.000Z', data: { orderId: id, plantId: 1, previousStatus: 'placed', newStatus: 'approved', trackingNumber: '' } });
  }

  payAll(first: number, last: number, step = 1): void {
    for (let id = first; id <= last; id += step) this.pay(id);
  }

  ship(id: number): void {
    this.orders.set(id, { ...this.orders.get(id)!, carrier: 'Green Post', trackingNumber: '1' });
    this.tell({ event: 'order.shipped', cursor: 'c', timestamp: '2026-02-01T00:00:00.000Z', data: { orderId: id, plantId: 1, carrier: 'Green Post', trackingNumber: '1' } });
  }

  openStream(): void {
    this.state.set('live');
    this.opening.resolve(undefined);
  }

  /** Those to ship, the oldest first. */
  get ids(): number[] {
    return this.toShip().map(({ id }) => id);
  }

  private toShip(): Order[] {
    return [...this.orders.values()].filter(({ carrier }) => carrier === undefined).sort((a, b) => a.id - b.id);
  }

  private tell(message: LiveMessage): void {
    if (this.state.get() === 'live') this.listener?.(message);
  }

  private async answer<Data>(data: Data): Promise<Data> {
    this.reads += 1;
    await wait(this.answerMs);
    if (this.isBroken) throw new Error('No answer');
    return structuredClone(data);
  }

  private async *pages(limit: number): AsyncGenerator<Order> {
    for (let last = -1; ; ) {
      const page = await this.answer(this.toShip().filter(({ id }) => id > last).slice(0, limit));
      yield* page;
      if (page.length < limit) return;
      last = page.at(-1)!.id;
    }
  }

  private async get(id: number): Promise<{ data: unknown }> {
    return { data: await this.answer(this.orders.get(id)) };
  }
}

describe('the list of orders to ship', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const idsOf = (list: OrderList): number[] => list.state.get().rows.map(({ id }) => id);
  const listOf = (fake: FakeShop): OrderList => new OrderList(fake.shop, fake.live, { tab: 'to-ship' }, true);
  const opened = async (fake: FakeShop): Promise<OrderList> => {
    const list = listOf(fake);
    list.open();
    await pass(answerMs * 10);
    return list;
  };
  /** Time for a read that waits, one under way before it, and one after it. */
  const soon = 5_000;

  it.each([10, 249, 480])('has all of a burst after %i orders', async (known) => {
    const fake = new FakeShop();
    fake.payAll(1, known);
    const list = await opened(fake);
    expect(idsOf(list)).toEqual(fake.ids);
    fake.payAll(1_001, 1_120);
    await pass(700);
    fake.payAll(1_121, 1_215);
    await pass(soon);
    // The rest is on the next page.
    if (!list.state.get().isEnd) await Promise.all([list.loadMore(), pass(soon)]);
    expect(idsOf(list)).toEqual(fake.ids);
    expect(list.state.get().isEnd).toBe(true);
  });

  it('has what came while it was read first, few or many', async () => {
    for (const more of [3, 300]) {
      const fake = new FakeShop();
      fake.payAll(1, 100);
      const list = listOf(fake);
      list.open();
      await pass(answerMs / 2);
      fake.payAll(101, 100 + more);
      fake.ship(50);
      await pass(soon);
      expect(idsOf(list)).toEqual(fake.ids);
    }
  });

  it('has what came before the stream was open', async () => {
    const fake = new FakeShop();
    fake.state.set('connecting');
    fake.payAll(1, 100);
    const list = listOf(fake);
    list.open();
    await pass(answerMs / 2);
    fake.payAll(101, 120);
    fake.openStream();
    await pass(soon);
    expect(idsOf(list)).toEqual(fake.ids);
  });

  it('has what came, and lacks what went, while orders were read', async () => {
    for (const count of [5, 50]) {
      const fake = new FakeShop();
      fake.payAll(1, 100);
      const list = await opened(fake);
      fake.payAll(101, 100 + count);
      const { reads } = fake;
      while (fake.reads === reads) await pass(50);
      fake.payAll(201, 200 + count);
      fake.ship(7);
      fake.ship(101);
      await pass(soon);
      expect(idsOf(list)).toEqual(fake.ids);
    }
  });

  it('has all of a burst of a slow shop', async () => {
    const fake = new FakeShop();
    fake.payAll(1, 100);
    const list = await opened(fake);
    fake.answerMs = slowMs;
    for (let id = 101; id <= 200; id += 1) {
      fake.pay(id);
      await pass(100);
    }
    await pass(3 * slowMs);
    expect(idsOf(list)).toEqual(fake.ids);
  });

  it('keeps the pages that were loaded, and takes orders that were paid late', async () => {
    const fake = new FakeShop();
    fake.payAll(2, 2_400, 2);
    const list = await opened(fake);
    await Promise.all([list.loadMore(), pass(soon)]);
    expect(idsOf(list)).toHaveLength(1_000);
    fake.payAll(1_001, 1_061, 2);
    await pass(soon);
    expect(idsOf(list)).toEqual(fake.ids.slice(0, 1_000));
    const [all] = await Promise.all([list.loadUpTo(5_000), pass(soon)]);
    expect(all.map(({ id }) => id)).toEqual(fake.ids);
  });

  it('reads a page only when it is wanted', async () => {
    const fake = new FakeShop();
    fake.payAll(1, 600);
    const list = await opened(fake);
    await Promise.all([list.loadMore(), pass(soon)]);
    fake.payAll(601, 1_200);
    await pass(soon);
    expect(list.state.get()).toMatchObject({ isEnd: false });
    fake.ship(900);
    fake.ship(1_100);
    await pass(soon);
    await Promise.all([list.loadMore(), pass(soon)]);
    expect(idsOf(list)).toEqual(fake.ids);
  });

  it('has a page that is loaded while it is read again', async () => {
    const fake = new FakeShop();
    fake.payAll(2, 2_400, 2);
    const list = await opened(fake);
    fake.payAll(1, 61, 2);
    const { reads } = fake;
    while (fake.reads === reads) await pass(50);
    await Promise.all([list.loadMore(), pass(soon)]);
    await pass(soon);
    expect(idsOf(list)).toEqual(fake.ids.slice(0, 1_000));
    // A few that are read one by one make no page.
    fake.payAll(63, 67, 2);
    await pass(soon);
    fake.payAll(101, 161, 2);
    await pass(soon);
    expect(idsOf(list)).toEqual(fake.ids.slice(0, 1_000));
  });

  it('takes all when all that match are wanted, also what it has not read yet', async () => {
    const fake = new FakeShop();
    fake.payAll(1, 249);
    const list = await opened(fake);
    fake.payAll(250, 369);
    const [all] = await Promise.all([list.loadUpTo(1_000), pass(soon)]);
    expect(all).toHaveLength(369);
  });

  it('keeps its rows, and what they lack is read later, if one reading fails', async () => {
    const fake = new FakeShop();
    fake.payAll(1, 1_200);
    const list = await opened(fake);
    await Promise.all([list.loadMore(), pass(2 * answerMs)]);
    const lengths: number[] = [];
    list.state.subscribe(() => lengths.push(list.state.get().rows.length));
    fake.isBroken = true;
    fake.ship(5);
    fake.payAll(1_201, 1_230);
    await pass(2_000);
    fake.isBroken = false;
    await pass(soon);
    await pass(soon);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(999);
    expect(idsOf(list)).toEqual(fake.ids.slice(0, 1_000));
  });

  it('says so if it cannot be read again, until it can', async () => {
    const fake = new FakeShop();
    fake.payAll(1, 10);
    const list = await opened(fake);
    fake.isBroken = true;
    fake.pay(11);
    await pass(soon);
    expect(list.state.get().error).toBeDefined();
    fake.isBroken = false;
    fake.pay(12);
    await pass(soon);
    expect(list.state.get().error).toBeUndefined();
    expect(idsOf(list)).toEqual(fake.ids);
  });

  it('reads nothing as long as nothing comes', async () => {
    const fake = new FakeShop();
    fake.payAll(1, 100);
    await opened(fake);
    fake.payAll(101, 220);
    await pass(soon);
    const { reads } = fake;
    await pass(60_000);
    expect(fake.reads).toBe(reads);
  });
});
