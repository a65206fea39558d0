import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { ExportShop, TestBroker } from './export.spec.fixture.js';

const example = fileURLToPath(new URL('../../../../libs/client/examples/consume-jetstream.mjs', import.meta.url));

describe('the example of consumers', () => {
  let test: ExportShop;
  let broker: TestBroker;
  const running: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    test = await ExportShop.open();
    broker = await TestBroker.start();
  });
  afterAll(async () => {
    await Promise.all(running.map((stop) => stop()));
    await test.close();
    await broker.stop();
  });

  function start(): { readonly handled: string[]; kill(): Promise<void> } {
    const handled: string[] = [];
    const env = { ...process.env, NATS_URL: broker.nats.url, DATABASE_URL: test.shop.database.url };
    const child = spawn(process.execPath, [example], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).on('line', (line) => handled.push(line));
    const kill = async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    running.push(kill);
    return { handled, kill };
  }

  it('three share the work, another takes over what one did that is killed, and the newest status of each order counts', async () => {
    await broker.addStream();
    await test.start();
    await test.create(broker);
    const programs = [start(), start(), start()];
    const all = (): Set<string> => new Set(programs.flatMap(({ handled }) => handled));
    const orders = 40;
    const steps = (newStatus: string): { id: string }[] => test.shop.move(Array.from({ length: orders }, (_, n) => ({ orderId: n + 1, newStatus })));
    let known = 0;
    // Until each has had some.
    await until(async () => {
      known += steps('approved').length;
      await until(() => all().size === known, 30_000);
      return programs.every(({ handled }) => handled.length > 0);
    }, 60_000);
    const [first] = programs;
    known += steps('shipped').length;
    await first?.kill();
    known += steps('delivered').length;
    // What it had and did not acknowledge comes again after 30 s.
    await until(() => all().size === known, 60_000);
    const { rows } = await test.shop.sql.query('SELECT status, count(*)::integer AS count FROM order_status GROUP BY 1');
    expect(rows).toEqual([{ status: 'delivered', count: orders }]);
  }, 180_000);
});
