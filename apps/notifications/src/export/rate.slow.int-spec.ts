import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { logAndCrash } from '../log/log.spec.fixture.js';
import { ExportShop, TestBroker } from './export.spec.fixture.js';

const events = Number(process.env['DESTINATION_EVENTS'] ?? 40_000);

describe('the rate of a destination', () => {
  let test: ExportShop;
  let broker: TestBroker;
  beforeAll(async () => {
    test = await ExportShop.open();
    broker = await TestBroker.start();
  });
  afterAll(async () => {
    await test.close();
    await broker.stop();
  });

  it('is thousands of events a second while it catches up', async () => {
    await broker.addStream();
    const replica = await test.start();
    const destination = await test.create(broker, { perSecond: 1_000_000 });
    await replica.stop();
    const logged = test.shop.move(Array.from({ length: events }, (_, n) => ({ orderId: 1 + Math.floor(n / 3) })), { silently: true });
    for (let n = 0; n < events; n += 10_000) await logAndCrash(test.shop.sql, test.shop.epoch, logged.slice(n, n + 10_000));
    await test.shop.sql.query('ANALYZE event_log');
    await test.start({ NOTIFICATIONS_ROLE: 'export' });
    const stored = (): Promise<number> => broker.with(async (streams) => (await streams.info('EVENTS')).state.messages);
    await until(async () => (await stored()) > 0, 30_000, 100);
    const [begun, before] = [performance.now(), await stored()];
    await until(async () => (await stored()) === events, 120_000, 100);
    const perSecond = ((events - before) * 1_000) / (performance.now() - begun);
    process.stdout.write(`      ${Math.round(perSecond)} events/s\n`);
    expect(perSecond).toBeGreaterThan(2_000);
    await test.start();
    await test.isUpToDate(destination);
  }, 300_000);
});
