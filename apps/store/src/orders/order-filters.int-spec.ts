import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ListOrders, type Order, type OrderStatus, store } from '@plant-shop/contracts/store';
import type { Principal } from '@plant-shop/platform/rpc/context';
import fc from 'fast-check';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';

interface Row {
  readonly id: number;
  readonly owner: number;
  readonly plantId: number;
  readonly status: OrderStatus;
  readonly placedAt: string;
  readonly externalId: string | null;
  readonly basketId: number | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly carrier: string | null;
  readonly trackingNumber: string;
  readonly refund: 'due' | 'completed' | null;
}

const cycle = <T>(values: readonly T[], n: number): T => values[n % values.length]!;
const start = Date.parse('2026-05-01T00:00:00.000Z');

/** Baskets of three orders; some have the external id of an order. An order of a basket may have another owner by now. */
const basketOf = (n: number): { readonly id: number; readonly owner: number; readonly externalId: string | null } => {
  const number = Math.floor(n / 12);
  return { id: 1_001 + 12 * number, owner: 1 + (number % 5), externalId: number % 3 === 0 ? `web-${number}` : null };
};

/** 240 orders of five customers, several at the same time. */
const rows: readonly Row[] = Array.from({ length: 240 }, (_, n) => {
  const status = cycle(['placed', 'approved', 'delivered', 'cancelled', 'delivered'] as const, n * 7);
  const isShipped = (status === 'approved' || status === 'delivered') && n % 3 === 0;
  return {
    id: 1_000 + n,
    owner: 1 + ((n * 13) % 5),
    plantId: 1 + (n % 4),
    status,
    placedAt: new Date(start + Math.floor(n / 3) * 1_000).toISOString(),
    // Each is unique among its owner's orders.
    externalId: n % 4 === 0 ? `web-${Math.floor(n / 20)}` : null,
    basketId: n % 4 === 1 ? basketOf(n).id : null,
    metadata: n % 5 === 0 ? null : { channel: cycle(['web', 'phone'], n), campaign: String(n % 7) },
    carrier: isShipped ? 'Post' : null,
    trackingNumber: isShipped ? `T${n % 11}` : '',
    refund: cycle([null, null, 'due', null, 'completed'] as const, n * 3),
  };
});

const insert = `
  INSERT INTO orders (id, basket_id, plant_id, quantity, status, owner_id, version, placed_at, external_id, metadata, carrier, tracking_number, refund)
  SELECT id, "basketId", "plantId", 1, status, owner, 1, "placedAt", "externalId", metadata, carrier, "trackingNumber", refund
  FROM jsonb_to_recordset($1) AS t (id bigint, "basketId" bigint, owner uuid, "plantId" bigint, status text, "placedAt" timestamptz, "externalId" text, metadata jsonb,
                                    carrier text, "trackingNumber" text, refund text)`;
const index = `
  INSERT INTO order_metadata (pair, owner_id, placed_at, order_id)
  SELECT hashtextextended(key || '=' || value, 0), owner_id, placed_at, id FROM orders CROSS JOIN jsonb_each_text(metadata) WHERE metadata IS NOT NULL`;

const externalIdOf = (row: Row): string | null => (row.basketId === null ? row.externalId : basketOf(row.id - 1_000).externalId);

/** What the list must hold, found in memory. */
function expected({ owner, plantId, status, placedFrom, placedBefore, externalId, metadata, shipped, refund, q, sort }: Partial<ListOrders>): number[] {
  const isSearched = (row: Row): boolean =>
    q === undefined || [String(row.id), row.basketId && String(row.basketId), externalIdOf(row), row.carrier && row.trackingNumber].includes(q) || (row.carrier && row.trackingNumber === q.toUpperCase()) || `user-${row.owner}`.startsWith(q);
  const found = rows.filter(
    (row) =>
      (owner === '*' || owner === `user-${row.owner}`) &&
      (plantId === undefined || row.plantId === plantId) &&
      (status === undefined || status.includes(row.status)) &&
      (placedFrom === undefined || row.placedAt >= placedFrom) &&
      (placedBefore === undefined || row.placedAt < placedBefore) &&
      (externalId === undefined || externalIdOf(row) === externalId) &&
      Object.entries(metadata ?? {}).every(([key, value]) => row.metadata?.[key] === value) &&
      (shipped === undefined || (row.carrier !== null) === shipped) &&
      (refund === undefined || row.refund === refund) &&
      isSearched(row),
  );
  const byTime = found.sort((a, b) => a.placedAt.localeCompare(b.placedAt) || a.id - b.id).map(({ id }) => id);
  return sort === 'placedAt' ? byTime : byTime.reverse();
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined, freq: 2 });
const filters = fc.record({
  owner: fc.constantFrom('*', 'user-1', 'user-4'),
  plantId: maybe(fc.constantFrom(1, 3, 99)),
  status: maybe(fc.subarray(['placed', 'approved', 'delivered', 'cancelled'] as OrderStatus[], { minLength: 1 })),
  placedFrom: maybe(fc.constantFrom(0, 20, 60).map((s) => new Date(start + s * 1_000).toISOString())),
  placedBefore: maybe(fc.constantFrom(10, 60, 80).map((s) => new Date(start + s * 1_000).toISOString())),
  externalId: maybe(fc.constantFrom('web-0', 'web-3', 'none')),
  metadata: maybe(fc.constantFrom({ channel: 'web' }, { channel: 'phone', campaign: '3' }, { campaign: '3', channel: 'web' }, { channel: 'none' })),
  shipped: maybe(fc.boolean()),
  refund: maybe(fc.constantFrom('due' as const, 'completed' as const)),
  q: maybe(fc.constantFrom('1007', '1013', 'web-2', 'web-3', 'T3', 't3', 'user-', 'user-2', 'none')),
  sort: maybe(fc.constantFrom('placedAt' as const, '-placedAt' as const)),
});
const present = (value: object): Partial<ListOrders> => Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));

describe('filtered lists of orders', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ usernames: [1, 2, 3, 4, 5] });
    await shop.rows(insert, [JSON.stringify(rows.map((row) => ({ ...row, owner: customer(row.owner).subject })))]);
    await shop.rows(index);
    // As if they had been old, among others that are not (order-archive.ts).
    await shop.rows(`WITH moved AS (DELETE FROM ONLY orders WHERE id % 3 > 0 AND status IN ('delivered', 'cancelled') RETURNING *) INSERT INTO old_orders SELECT * FROM moved`);
    const baskets = rows.filter(({ id, basketId }) => id === basketId).map(({ id }) => basketOf(id - 1_000));
    await shop.rows(
      'INSERT INTO baskets (id, owner_id, external_id, placed_at) SELECT id, owner, "externalId", now() FROM jsonb_to_recordset($1) AS t (id bigint, owner uuid, "externalId" text)',
      [JSON.stringify(baskets.map((basket) => ({ ...basket, owner: customer(basket.owner).subject })))],
    );
  });
  afterAll(() => shop.stop());

  const pages = (request: Partial<ListOrders>, who: Principal = staff): Promise<Order[][]> => shop.caller.pages(store.listOrders, request, who);
  const idsOf = (orders: readonly Order[]): number[] => orders.map(({ id }) => id);

  it('hold each order once, in order, whatever the filters and the size of pages (slow)', async () => {
    await fc.assert(
      fc.asyncProperty(filters, fc.constantFrom(3, 17, 1_000), async (given, limit) => {
        const filter = present(given);
        expect(idsOf((await pages({ ...filter, limit })).flat())).toEqual(expected(filter));
      }),
      { numRuns: 100 },
    );
  });

  it('end a page where reading stops, and miss nothing after it', async () => {
    await shop.rows(`
      INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at)
      SELECT 10000 + n, CASE WHEN n % 1500 = 0 THEN 8 ELSE 7 END, 1, 'cancelled', $1, 1, '2026-06-01T00:00:00Z'::timestamptz + n * interval '1 second'
      FROM generate_series(1, 4500) AS n`, [customer(9).subject]);
    for (const sort of ['placedAt', '-placedAt'] as const) {
      const found = await pages({ owner: 'user-9', plantId: 8, sort, limit: 10 });
      expect(found.length).toBeGreaterThan(3);
      expect(idsOf(found.flat()).sort()).toEqual([11_500, 13_000, 14_500]);
    }
  });

  it('search a customer’s own orders only', async () => {
    const own = expected({ owner: 'user-1', q: 'web-2' });
    expect(own).toHaveLength(1);
    expect(idsOf((await pages({ q: 'web-2' }, customer(1))).flat())).toEqual(own);
    expect(await pages({ q: 'user-1' }, customer(1))).toEqual([[]]);
    const theirs = rows.find((row) => row.owner === 2)!;
    expect(await pages({ q: String(theirs.id) }, customer(1))).toEqual([[]]);
  });
});
