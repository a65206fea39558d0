import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Service } from '@plant-shop/platform/service/service';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { type Change, customer, type Network, TestWebhooks } from '../webhooks.spec.fixture.js';

/** Three events of each of ten orders. */
const changes: Change[] = ['approved', 'delivered', 'cancelled'].flatMap((newStatus) =>
  Array.from({ length: 10 }, (_, n) => ({ orderId: n + 1, newStatus })),
);

// With leases and pauses of production, unless a test says otherwise.
describe('a replica that loses Postgres and NATS while it has claimed deliveries', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  let network: Network;
  beforeEach(async () => {
    receiver = await Receiver.start();
    receiver.answer = (_received, response) => setTimeout(() => response.writeHead(204).end(), 300);
    shop = await TestWebhooks.start({ replicas: 0 });
  });
  afterEach(async () => {
    await shop.stop();
    await receiver.stop();
  });

  const begin = async (options: { leaseMs?: number } = {}): Promise<void> => {
    network = await shop.addDistantReplica(options);
    await shop.create(receiver.url);
  };
  const cut = (): Promise<unknown> => Promise.all([network.postgres.cut(), network.nats.cut()]);
  const restore = (): Promise<unknown> => Promise.all([network.postgres.restore(), network.nats.restore()]);
  const haveArrived = async (count: number, withinMs: number): Promise<void> => {
    const begun = performance.now();
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state = 'delivered'`)).rowCount === count, 60_000);
    expect(performance.now() - begun).toBeLessThan(withinMs);
  };
  /** Returns the distinct ids of each order's events. */
  const idsByOrder = (): string[][] => {
    const byOrder = Map.groupBy(receiver.received, ({ body }) => (JSON.parse(body) as { data: { orderId: number } }).data.orderId);
    return [...byOrder.values()].map((received) => [...new Set(received.map(({ headers }) => headers['webhook-id'] ?? ''))]);
  };
  const expectInOrder = (): void => {
    for (const ids of idsByOrder()) expect([ids.length, ids]).toEqual([3, [...ids].sort()]);
  };
  const attempts = async (): Promise<{ status: number }[][]> =>
    (await shop.sql.query<{ attempts: { status: number }[] }>('SELECT attempts FROM webhook_deliveries')).rows.map((row) => row.attempts);

  it('continues within seconds of their return, records what it has sent, and sends nothing twice', async () => {
    await begin();
    shop.happen(...changes);
    await until(() => receiver.received.length >= 2);
    await cut();
    await pause(2_000);
    await restore();
    await haveArrived(30, 10_000);
    expectInOrder();
    expect(new Set(receiver.ids).size).toBe(receiver.ids.length);
    // The outage does not count as an attempt: one attempt each.
    for (const made of await attempts()) expect(made.map(({ status }) => status)).toEqual([204]);
  }, 90_000);

  it('continues within seconds of their return after an outage longer than its leases', async () => {
    await begin({ leaseMs: 1_000 });
    shop.happen(...changes);
    await until(() => receiver.received.length >= 2);
    await cut();
    await pause(2_500);
    await restore();
    await haveArrived(30, 10_000);
    expectInOrder();
    for (const made of await attempts()) expect(made.map(({ status }) => status)).toEqual([204]);
  }, 90_000);

  it('sends events of the outage, in order', async () => {
    await begin();
    await cut();
    shop.happenSilently(...changes);
    await pause(1_000);
    await restore();
    await haveArrived(30, 15_000);
    expectInOrder();
  }, 90_000);

  it('loses its deliveries to another replica within seconds when it does not return', async () => {
    await begin();
    receiver.answer = () => undefined;
    shop.happen(...changes);
    await until(() => receiver.received.length >= 2);
    await cut();
    receiver.answer = (_received, response) => response.writeHead(204).end();
    await shop.addReplica();
    await haveArrived(30, 15_000);
    expectInOrder();
  }, 90_000);

  it('sends nothing while it cannot follow revocations, and leaves deliveries to replicas that can', async () => {
    await begin();
    shop.users.set(customer(1).subject, undefined);
    await network.nats.cut();
    // Longer than its knowledge of revocations is valid.
    await pause(1_500);
    await shop.sql.query(
      `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, due_at)
       SELECT id, gen_random_uuid(), false, false, '{}', now() FROM webhooks`,
    );
    await shop.sql.query('UPDATE webhook_queues SET turn_at = now()');
    await pause(1_500);
    expect(receiver.received).toEqual([]);
    shop.users.delete(customer(1).subject);
    await shop.addReplica();
    await haveArrived(1, 10_000);
  }, 60_000);
});

describe('a worker that has lost its lease to another one', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  let worker: Service;
  beforeEach(async () => {
    receiver = await Receiver.start();
    shop = await TestWebhooks.start({ replicas: 0 });
    worker = await shop.addReplica();
  });
  afterEach(async () => {
    await shop.stop();
    await receiver.stop();
  });

  it.each([200, 500])('records nothing of its attempt (%i): neither the attempt nor its consequences', async (status) => {
    const answers: (() => void)[] = [];
    receiver.answer = ({ body }, response) => {
      const isFirst = body.includes('"orderId":1,');
      const answer = (): void => void response.writeHead(isFirst ? status : 200).end();
      if (isFirst) answers.push(answer);
      else answer();
    };
    const webhook = await shop.create(receiver.url);
    const [event, next] = shop.happen({ orderId: 1 }, { orderId: 1, newStatus: 'delivered' });
    await until(() => answers.length === 1);
    const ours = `UPDATE webhook_deliveries SET lease = gen_random_uuid(), due_at = now() + interval '1 minute'
      WHERE event_id = $1 AND lease IS NOT NULL RETURNING lease`;
    const { rows: taken } = await shop.sql.query<{ lease: string }>(ours, [event!.id]);
    expect(taken).toHaveLength(1);
    answers[0]!();
    const attempted = `webhook_attempts_total{status="${status / 100}xx",service="notifications"} 1`;
    await until(async () => (await worker.metrics.metrics()).includes(attempted));
    // Outcomes are recorded in order: once a later one is recorded, this one was processed.
    shop.happen({ orderId: 2 });
    await until(async () => (await shop.deliveries(webhook))[0]?.state === 'delivered');
    const { rows } = await shop.sql.query(
      'SELECT event_id AS id, state, lease, attempts, due_at IS NULL AS waits FROM webhook_deliveries WHERE order_id = 1 ORDER BY id',
    );
    expect(rows).toEqual([
      { id: event!.id, state: 'pending', lease: taken[0]!.lease, attempts: [], waits: false },
      { id: next!.id, state: 'pending', lease: null, attempts: [], waits: true },
    ]);
  });
});
