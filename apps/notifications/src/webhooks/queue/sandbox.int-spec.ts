import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { staff, TestWebhooks } from '../webhooks.spec.fixture.js';

let shop: TestWebhooks;
let receiver: Receiver;
beforeAll(async () => {
  shop = await TestWebhooks.start({ replicas: 0 });
  await shop.sql.query('UPDATE database_mode SET sandbox = true');
  await shop.addReplica({}, { SANDBOX: 'true' });
  receiver = await Receiver.start();
});
afterAll(async () => {
  await receiver.stop();
  await shop.stop();
});

const reset = () => shop.call(notifications.resetSandbox, {}, staff(1));
const rowsOf = async (table: string): Promise<number> => (await shop.sql.query(`SELECT 1 FROM ${table}`)).rowCount ?? 0;

it('a reset deletes deliveries, ends pauses, and lets later events arrive', async () => {
  receiver.answerWith(500);
  const webhook = await shop.create(receiver.url);
  shop.happen({ orderId: 1 }, { orderId: 1, newStatus: 'delivered' });
  await until(async () => (await shop.deliveries(webhook)).some(({ attempts }) => attempts.length > 0));
  await shop.webhooksHaveFollowed();
  await shop.sql.query(`UPDATE webhook_queues SET paused_until = now() + interval '1 hour'`);
  await reset();
  expect([await rowsOf('webhook_deliveries'), await rowsOf('webhook_lanes'), await rowsOf('webhooks')]).toEqual([0, 0, 1]);
  receiver.answerWith(204);
  const [later] = shop.happen({ orderId: 1, newStatus: 'cancelled' });
  await until(() => Promise.resolve(receiver.ids.includes(later!.id)));
  await until(async () => (await shop.deliveries(webhook)).every(({ state }) => state === 'delivered'));
});

it('the clock is at most 5,000 years ahead, and works there', async () => {
  const year = 31_536_000;
  const advance = (advanceSeconds: number) => shop.call(notifications.advanceClock, { clock: { advanceSeconds } }, staff(1));
  await shop.sql.query(`UPDATE webhook_clock SET ahead = interval '4998 years'`);
  await advance(year);
  await expect(advance(year)).rejects.toMatchObject({ code: 'invalid-input', details: { errors: [{ pointer: '/clock/advanceSeconds' }] } });
  const [later] = shop.happen({ orderId: 2 });
  await until(() => Promise.resolve(receiver.ids.includes(later!.id)));
});

it('a reset destroys nothing in a database that is not marked as one of a sandbox', async () => {
  const before = await rowsOf('webhook_deliveries');
  expect(before).toBeGreaterThan(0);
  await shop.sql.query('UPDATE database_mode SET sandbox = false');
  await expect(reset()).rejects.toMatchObject({ code: 'internal' });
  expect(await rowsOf('webhook_deliveries')).toBe(before);
});
