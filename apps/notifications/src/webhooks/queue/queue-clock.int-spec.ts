import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { notificationsDatabase } from '../../database.js';
import { staff, TestWebhooks } from '../webhooks.spec.fixture.js';
import { QueueClock } from './queue-clock.js';

const stepSeconds = 600;
const logger = createLogger('test', 'fatal');

describe("a step of the clock of notifications' database", () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeEach(async () => {
    // The first retry follows after two seconds.
    shop = await TestWebhooks.start({ timeScale: 0.4, leaseMs: 1_000 });
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await receiver.stop();
    await shop.stop();
  });

  /** The queue sees the database's clock only through this row. */
  const setClock = (seconds: number): Promise<unknown> =>
    shop.sql.query(`UPDATE webhook_clock SET ahead = ahead + $1 * interval '1 second'`, [seconds]);
  const queueSeconds = async (): Promise<number> =>
    (await shop.sql.query<{ at: number }>('SELECT extract(epoch FROM clock_timestamp() + ahead)::float8 AS at FROM webhook_clock')).rows[0]!.at;
  const count = async (condition: string): Promise<number> =>
    (await shop.sql.query<{ n: number }>(`SELECT count(*)::integer AS n FROM webhook_deliveries WHERE ${condition}`)).rows[0]!.n;

  it.each([-stepSeconds, stepSeconds])('by %i s delays neither events, nor retries, nor deliveries of crashed workers (slow)', async (seconds) => {
    receiver.answer = (_received, response) => response.writeHead(receiver.received.length === 1 ? 500 : 200).end();
    await shop.create(receiver.url);
    await shop.create(receiver.url, {}, staff(2));
    const [failing] = shop.happen({ orderId: 1, owner: 2 });
    await until(async () => (await count("state = 'pending' AND attempts <> '[]'")) === 1);
    await shop.stopReplicas();
    // A worker that has crashed.
    await shop.sql.query(`UPDATE webhook_deliveries SET lease = gen_random_uuid() WHERE state = 'pending'`);
    await setClock(seconds);
    await shop.addReplica({ timeScale: 0.4, leaseMs: 1_000 });
    await until(async () => (await count("state = 'pending'")) === 0);
    expect(receiver.ids.filter((id) => id === failing!.id)).toHaveLength(2);
    await setClock(-seconds);
    const later = shop.happen({ orderId: 2 }, { orderId: 3, owner: 3 });
    await until(() => Promise.resolve(later.every(({ id }) => receiver.ids.includes(id))));
  });

  it('back is noticed within seconds, by one of the replicas (slow)', async () => {
    await shop.addReplica();
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhook_clock WHERE seen > now() - interval \'1 minute\'')).rowCount === 1);
    const before = await queueSeconds();
    await setClock(-stepSeconds);
    await until(async () => (await queueSeconds()) > before);
    expect((await queueSeconds()) - before).toBeLessThan(60);
  });

  it('back shows clients when a delivery is tried again, by the clock that they can compare (slow)', async () => {
    receiver.answer = (_received, response) => response.writeHead(500).end();
    const webhook = await shop.create(receiver.url);
    await setClock(stepSeconds);
    // The replica has read it.
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_clock WHERE seen > now() + interval '5 minutes'`)).rowCount === 1);
    shop.happen({ orderId: 1 });
    await until(async () => (await count("state = 'pending' AND attempts <> '[]' AND lease IS NULL")) === 1);
    const [delivery] = await shop.deliveries(webhook);
    expect(Math.abs(Date.parse(delivery!.nextAttemptAt!) - Date.now())).toBeLessThan(60_000);
  });

  const ownDatabase = async (): Promise<Database> => {
    await shop.stopReplicas();
    const { connectionString } = shop.sql.options as { connectionString: string };
    return Database.connect(notificationsDatabase({ databaseUrl: connectionString, databaseCa: '', sandbox: false }, 2), logger);
  };

  it('is not seen in an answer that a busy machine handles late (slow)', async () => {
    const database = await ownDatabase();
    const clock = new QueueClock(database, logger);
    await clock.run();
    const late = async <T>(answer: Promise<T>): Promise<T> => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return answer;
    };
    const [query, transaction] = [database.query.bind(database), database.transaction.bind(database)];
    database.query = (...statement) => late(query(...statement)) as never;
    database.transaction = (work) => transaction((tx) => work({ ...tx, query: (...statement) => late(tx.query(...statement)) as never }));
    await clock.run();
    await database.close();
    expect((await shop.sql.query(`SELECT ahead = '0' AS "isRight" FROM webhook_clock`)).rows).toEqual([{ isRight: true }]);
  });

  it('does not move the times of a transaction that runs meanwhile (slow)', async () => {
    const database = await ownDatabase();
    const clock = new QueueClock(database, logger);
    const time = (): Promise<string> =>
      clock.transaction(async (tx) => (await tx.query<{ time: string }>(`SELECT current_setting('shop.queue_time') AS time`))[0]!.time);
    const before = await time();
    await setClock(-stepSeconds);
    const during = await time();
    await clock.run();
    const after = await time();
    await database.close();
    expect([before, during, after]).toEqual([before, during, after].sort());
    expect(Date.parse(after) - Date.parse(before)).toBeLessThan(60_000);
  });
});
