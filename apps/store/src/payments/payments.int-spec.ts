import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Basket, type Order, store } from '@plant-shop/contracts/store';
import { CodedError } from '@plant-shop/platform/errors';
import { IdempotencyKey } from '@plant-shop/platform/rpc/context';
import type { Database } from '@plant-shop/platform/postgres/database';
import { unwrapResponse } from '@plant-shop/platform/rpc/answer';
import { until } from '@plant-shop/testing/until';
import fc from 'fast-check';
import { findBasket } from '../orders/baskets.repository.js';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';
import { applyPaymentReports, type PaymentReport, type PaymentResult } from './payments.service.js';

const policy = { provider: 'external', orderTtlMs: 3_600_000, approvalDelayMs: 0, deliveryDelayMs: 0, unpaid: { orders: 20, units: 200 }, shownUpTo: 10 } as const;

describe('payments that are reported together', () => {
  let shop: StoreFixture;
  let database: Database;
  beforeAll(async () => {
    shop = await StoreFixture.start();
    database = await shop.database();
  });
  afterAll(async () => {
    await database.close();
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = async (plantId: number): Promise<number> =>
    (await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1))).id;

  /** A generated report. Order, reference and key are small numbers, so that reports repeat each other. */
  interface GeneratedReport {
    /** `basket`: the second and the third order. */
    readonly order: number | 'basket';
    readonly reference: number;
    readonly outcome: 'succeeded' | 'failed';
    readonly key: number | undefined;
  }
  const orders = 3;
  const unknownOrder = 999_999_999;
  const generatedReport = fc.record<GeneratedReport>({
    order: fc.oneof(fc.nat({ max: orders }), fc.constant('basket' as const)),
    reference: fc.nat({ max: 2 }),
    outcome: fc.constantFrom('succeeded', 'failed'),
    key: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
  });

  /** Places `orders` orders and returns their reports; reports with a higher number are of an unknown order. */
  async function reportsOf(all: readonly GeneratedReport[]): Promise<{ ids: number[]; reports: PaymentReport[] }> {
    const plantId = await shop.plant(orders);
    const ids: number[] = [];
    ids.push(await place(plantId));
    const { id: basketId, orders: inBasket } = await shop.caller.call(store.placeBasket, { basket: { lines: [{ plantId }, { plantId }] } }, customer(1));
    ids.push(...inBasket.map(({ id }) => id));
    const basket = (await findBasket(database, basketId))!;
    const run = randomUUID();
    const reports = all.map(({ order, reference, outcome, key }): PaymentReport => ({
      ...(order === 'basket' ? { basket, orderIds: [ids[1]!, ids[2]!] } : { orderIds: [ids[order] ?? unknownOrder] }),
      reference: `p-${reference} of ${run}`,
      outcome,
      actor: { requestId: run, credentials: [] },
      reporter: staff,
      traceparent: undefined,
      idempotency:
        key === undefined
          ? undefined
          : new IdempotencyKey(staff.subject, `${run} ${key}`, store.reportPayment.pattern, Buffer.from(JSON.stringify([order, reference, outcome]))),
    }));
    return { ids, reports };
  }

  /** Returns the parts of a result that two runs share although their orders have different ids. */
  const comparable = (result: PaymentResult | undefined): unknown => {
    if (result instanceof CodedError) return { code: result.code, details: result.details };
    const { value, meta } = unwrapResponse(result);
    const { status, ...one } = value as Order | Basket;
    return { status, ...('orders' in one && { orders: one.orders.map((order) => order.status) }), ...meta };
  };
  const storedState = async (ids: readonly number[], requestId: string | undefined) => ({
    orders: await shop.rows('SELECT status, version, paid_at IS NULL AS unpaid FROM orders WHERE id = ANY($1) ORDER BY id', [ids]),
    payments: await shop.rows(`SELECT split_part(reference, ' ', 1), state FROM payments WHERE order_id = ANY($1) ORDER BY order_id, reference`, [ids]),
    events: await shop.rows('SELECT new_status, order_version, reason FROM order_transitions WHERE order_id = ANY($1) ORDER BY order_id, position', [ids]),
    audited: await shop.rows('SELECT count(*) FROM audit_log WHERE request_id = $1', [requestId]),
  });

  it('have the answers and effects that they have one at a time (slow)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(generatedReport, { minLength: 1, maxLength: 12 }), async (all) => {
        const together = await reportsOf(all);
        const alone = await reportsOf(all);
        const { results: inOneBatch } = await database.transaction((tx) => applyPaymentReports(tx, together.reports, policy));
        const oneByOne: (PaymentResult | undefined)[] = [];
        for (const report of alone.reports) {
          const { results: [result] } = await database.transaction((tx) => applyPaymentReports(tx, [report], policy));
          oneByOne.push(result);
        }
        expect(inOneBatch.map(comparable)).toEqual(oneByOne.map(comparable));
        expect(await storedState(together.ids, together.reports[0]?.actor.requestId)).toEqual(
          await storedState(alone.ids, alone.reports[0]?.actor.requestId),
        );
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it('number their events themselves, unless an earlier event of an order waits for its number', async () => {
    const eventsOf = async ({ orderIds: [id] }: PaymentReport) =>
      (await shop.rows<{ seq: string | null; id: string }>('SELECT feed_seq AS seq, event_id AS id FROM order_transitions WHERE order_id = $1 ORDER BY order_version', [id])).map((row) => ({ ...row, seq: Number(row.seq ?? NaN) }));
    const numberedOrder = async (): Promise<PaymentReport> => {
      const { reports } = await reportsOf([{ order: 0, reference: 0, outcome: 'succeeded', key: undefined }]);
      await until(async () => (await shop.rows('SELECT 1 FROM order_transitions WHERE event_id IS NOT NULL AND feed_seq IS NULL')).length === 0);
      return reports[0]!;
    };
    const free = await numberedOrder();
    const { numbered } = await database.transaction((tx) => applyPaymentReports(tx, [free], policy));
    const [, paid] = await eventsOf(free);
    expect(numbered()).toMatchObject({ head: paid!.seq, after: { seq: paid!.seq - 1, id: expect.any(String) }, events: [{ ...paid, subject: customer(1).subject }] });
    const late = await numberedOrder();
    const waiting = await database.transaction(async (tx) => {
      await tx.execute('UPDATE order_transitions SET feed_seq = NULL WHERE order_id = $1', [late.orderIds[0]]);
      return applyPaymentReports(tx, [late], policy);
    });
    expect(waiting.numbered()).toBeUndefined();
    await until(async () => {
      const [first, second] = await eventsOf(late);
      return first!.seq < second!.seq;
    });
  });

  it('make refunds that become visible in the order of their ids, so that none appears behind one that was read', async () => {
    const other = await shop.database();
    const late = async (): Promise<PaymentReport> => {
      const { reports, ids } = await reportsOf([{ order: 0, reference: 0, outcome: 'succeeded', key: undefined }]);
      await shop.caller.call(store.cancelOrder, { orderId: ids[0]! }, customer(1));
      return reports[0]!;
    };
    const [first, second] = [await late(), await late()];
    const listed = async (): Promise<number[]> => (await shop.caller.call(store.listRefunds, { limit: 2 }, staff)).map(({ orderId }) => orderId);
    const before = await listed();
    let whenSecondWaits: (() => Promise<void>) | undefined;
    await database.transaction(async (tx) => {
      await applyPaymentReports(tx, [first], policy);
      const isDone = other.transaction((tx2) => applyPaymentReports(tx2, [second], policy)).then(() => true);
      await until(async () => (await shop.rows(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).length > 0);
      expect(await listed()).toEqual(before);
      whenSecondWaits = async () => expect(await isDone).toBe(true);
    });
    await whenSecondWaits?.();
    expect(await listed()).toEqual([...second.orderIds, ...first.orderIds]);
    await other.close();
  });

  it('with one reference wait for each other, although their orders share no lock, and pay one order', async () => {
    const other = await shop.database();
    const reportOf = async (): Promise<PaymentReport> => (await reportsOf([{ order: 0, reference: 0, outcome: 'succeeded', key: undefined }])).reports[0]!;
    const first = await reportOf();
    const second = { ...(await reportOf()), reference: first.reference };
    let secondResult: Promise<readonly PaymentResult[]> | undefined;
    await database.transaction(async (tx) => {
      await applyPaymentReports(tx, [first], policy);
      secondResult = other.transaction((tx2) => applyPaymentReports(tx2, [second], policy)).then(({ results }) => results);
      await until(async () => (await shop.rows(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).length > 0);
    });
    expect(await secondResult).toMatchObject([{ code: 'payment-reference-used' }]);
    expect(await shop.rows('SELECT state FROM payments WHERE reference = $1', [first.reference])).toEqual([{ state: 'accepted' }]);
    await other.close();
  });

  it('that are refused do not affect others in the batch', async () => {
    const plantId = await shop.plant(20);
    const ids = await Promise.all(Array.from({ length: 20 }, () => place(plantId)));
    const report = async (orderId: number, reference: string): Promise<string> =>
      (await shop.caller.call(store.reportPayment, { orderId, payment: { outcome: 'succeeded', reference } }, staff)).status;
    const outcomes = await Promise.allSettled(
      ids.flatMap((orderId) => [report(orderId, `first of ${orderId}`), report(unknownOrder, 'first'), report(orderId, `second of ${orderId}`)]),
    );
    const codes = outcomes.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as { code: string }).code));
    expect(codes).toEqual(ids.flatMap(() => ['approved', 'order-not-found', 'order-not-payable']));
    await expect(shop.caller.call(store.getStock, { plantId }, staff)).resolves.toMatchObject({ free: 0, reserved: 0, sold: 20 });
  });
});

describe('a payment reference', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });
  const place = async (quantity = 1): Promise<number> =>
    (await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(quantity), quantity } }, customer(1))).id;
  const report = (orderId: number, reference: string, outcome: 'succeeded' | 'failed' = 'succeeded') =>
    outcomeOf(shop.caller.call(store.reportPayment, { orderId, payment: { outcome, reference } }, staff));

  it.each(['succeeded', 'failed'] as const)('that was reported as %s for one order pays no other', async (outcome) => {
    const [small, large] = [await place(), await place(20)];
    const reference = `once ${outcome}`;
    expect(await report(small, reference, outcome)).toBe('placed');
    for (const next of ['succeeded', 'failed'] as const) expect(await report(large, reference, next)).toBe('payment-reference-used');
    expect(await shop.rows('SELECT order_id FROM payments WHERE reference = $1', [reference])).toEqual([{ order_id: small }]);
    await expect(shop.caller.call(store.getOrder, { orderId: large }, customer(1))).resolves.toMatchObject({ status: 'placed' });
    // The text names no order.
    await expect(shop.caller.call(store.reportPayment, { orderId: large, payment: { outcome, reference } }, staff)).rejects.toMatchObject({
      message: expect.not.stringContaining(String(small)),
      details: {},
    });
    expect(await report(large, `${reference}, another`)).toBe('placed');
  });

  it('pays one of the orders that are reported with it at once, at two replicas (slow)', async () => {
    for (let round = 0; round < 10; round++) {
      const orders = await Promise.all(Array.from({ length: 6 }, () => place()));
      const outcomes = await Promise.all(orders.map((orderId) => report(orderId, `raced ${round}`)));
      expect(outcomes.sort()).toEqual([...Array(5).fill('payment-reference-used'), 'placed']);
    }
  });
});

describe('a payment that failed', () => {
  let shop: StoreFixture;
  const start = async (config: Parameters<typeof StoreFixture.start>[0]): Promise<void> => {
    shop = await StoreFixture.start(config);
  };
  afterEach(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });
  const simulated = { paymentProvider: 'simulated', simulatedApprovalDelayMs: 1_500, simulatedDeliveryDelayMs: 3_600_000 } as const;
  const place = async (): Promise<Order> => shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant(1) } }, customer(1));
  const report = (orderId: number, outcome: 'succeeded' | 'failed', reference = `${outcome} of ${orderId}`) =>
    shop.caller.call(store.reportPayment, { orderId, payment: { outcome, reference } }, staff);
  const read = (orderId: number) => shop.caller.call(store.getOrder, { orderId }, customer(1));
  const reasons = async (orderId: number) =>
    (await shop.caller.call(store.getTimeline, { orderId }, customer(1))).map(({ actor, reason }) => `${reason} by ${actor}`);
  const isApproved = async (orderId: number) => (await read(orderId)).status === 'approved';

  it('ends the simulated approval of its order alone, which can be paid until it expires (slow)', async () => {
    await start(simulated);
    const [declined, other] = [await place(), await place()];
    expect(declined.reservedUntil).toBeUndefined();
    const answer = await report(declined.id, 'failed');
    const reservedUntil = new Date(Date.parse(declined.placedAt) + 3_600_000).toISOString();
    expect(answer).toMatchObject({ status: 'placed', reservedUntil });
    // The same report again, and another failed payment, leave the expiry where it is.
    expect(await report(declined.id, 'failed')).toEqual(answer);
    const again = await report(declined.id, 'failed', 'second card');
    expect(again).toEqual({ ...answer, updatedAt: expect.any(String) });
    await until(() => isApproved(other.id));
    expect(await read(declined.id)).toEqual(again);
    expect(await reasons(declined.id)).toEqual(['placed by owner', 'payment failed by staff', 'payment failed by staff']);
    expect(await report(declined.id, 'succeeded')).toMatchObject({ status: 'approved' });
    const due = () => shop.rows('SELECT due_at, due_transition FROM orders WHERE id = $1', [declined.id]);
    const [delivery] = await due();
    await report(declined.id, 'failed', 'third card');
    expect((await reasons(declined.id)).slice(-2)).toEqual(['payment succeeded by staff', 'payment failed by staff']);
    expect(await due()).toEqual([{ ...delivery, due_transition: 'deliver' }]);
  });

  it('does not keep its order from expiring (slow)', async () => {
    await start({ ...simulated, simulatedApprovalDelayMs: 400, orderTtlMs: 1_200 });
    const { id } = await place();
    await report(id, 'failed');
    await until(async () => (await read(id)).status === 'cancelled');
    expect(await reasons(id)).toEqual(['placed by owner', 'payment failed by staff', 'expired without payment by store']);
    await report(id, 'failed', 'too late');
    expect((await reasons(id)).at(-1)).toBe('payment failed by staff');
    expect(await read(id)).toMatchObject({ status: 'cancelled' });
  });

  it('is shown in the timeline with an external provider, too, and leaves the expiry as it is (slow)', async () => {
    await start({});
    const { id, reservedUntil } = await place();
    expect(await report(id, 'failed')).toMatchObject({ status: 'placed', reservedUntil });
    expect(await reasons(id)).toEqual(['placed by owner', 'payment failed by staff']);
  });
});
