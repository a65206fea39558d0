import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { Receiver } from '@plant-shop/testing/receiver';
import { customer, TestWebhooks } from '../webhooks.spec.fixture.js';

type Slowness = 'drips its body' | 'drips its headers' | 'never answers' | 'never answers the TLS handshake';

/** A TCP server that keeps connections open as long as it can. */
class SlowReceiver {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly slowness: Slowness,
    private readonly server = createServer((socket) => this.take(socket)),
  ) {}

  static async start(slowness: Slowness): Promise<SlowReceiver> {
    const receiver = new SlowReceiver(slowness);
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `${this.slowness === 'never answers the TLS handshake' ? 'https' : 'http'}://127.0.0.1:${port}/hook`;
  }

  get open(): number {
    return this.sockets.size;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private take(socket: Socket): void {
    this.sockets.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket.on('error', () => undefined).on('close', () => {
      clearInterval(timer);
      this.sockets.delete(socket);
    });
    if (this.slowness.startsWith('never')) {
      socket.resume();
      return;
    }
    const isBody = this.slowness === 'drips its body';
    socket.once('data', () => {
      socket.write(isBody ? 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' : 'HTTP/1.1 200 OK\r\nx-drip: ');
      timer = setInterval(() => socket.write(isBody ? '1\r\n.\r\n' : '.'), 200);
    });
  }
}

const slownesses: Slowness[] = ['drips its body', 'drips its headers', 'never answers', 'never answers the TLS handshake'];
const slowOwner = (n: number): number => 100 + n;

describe('receivers that keep connections open as long as they can', () => {
  let shop: TestWebhooks;
  let healthy: Receiver;
  let slow: SlowReceiver[];
  beforeEach(async () => {
    // With the limits of production.
    shop = await TestWebhooks.start();
    healthy = await Receiver.start();
    slow = await Promise.all(slownesses.map((one) => SlowReceiver.start(one)));
  });
  afterEach(async () => {
    await shop.stop();
    await healthy.stop();
    for (const one of slow) one.stop();
  });

  it('do not delay other owners: four owners with twenty endpoints each', async () => {
    for (const [n, { url }] of slow.entries()) {
      for (let endpoint = 0; endpoint < 20; endpoint++) await shop.create(url, {}, customer(slowOwner(n)));
    }
    await shop.create(healthy.url);
    for (let orderId = 1; orderId <= 20; orderId++) shop.happen(...slow.map((_one, n) => ({ orderId, owner: slowOwner(n) })));
    // They have used up their shares.
    await until(() => slow.every(({ open }) => open > 0));
    await new Promise((resolve) => setTimeout(resolve, 500));
    const begun = performance.now();
    shop.happen(...Array.from({ length: 40 }, (_, n) => ({ orderId: 1_000 + n })));
    await until(() => healthy.received.length === 40, 30_000);
    // A third of the limit of an attempt.
    expect(performance.now() - begun).toBeLessThan(5_000);
  }, 60_000);

  it.each([
    ['from their first event on', 0],
    ['after many quick responses', 20],
  ])('do not delay another endpoint of the same owner: six that hang %s', async (_when, quick) => {
    const six = await Promise.all(Array.from({ length: 6 }, () => Receiver.start()));
    for (const { url } of six) await shop.create(url);
    shop.happen(...Array.from({ length: quick }, (_, n) => ({ orderId: n + 1 })));
    await until(() => six.every(({ received }) => received.length === quick), 20_000);
    for (const one of six) one.answer = () => undefined;
    shop.happen(...Array.from({ length: 40 }, (_, n) => ({ orderId: 100 + n })));
    await until(() => six.every(({ received }) => received.length > quick), 20_000);
    // Nothing waits for a slot: what has no attempt in progress is not claimed, or is given back.
    await until(async () => {
      const { rowCount } = await shop.sql.query('SELECT 1 FROM webhook_deliveries WHERE lease IS NOT NULL AND due_at > now()');
      return rowCount === six.reduce((sum, { openConnections }) => sum + openConnections, 0);
    });
    await shop.create(healthy.url);
    const begun = performance.now();
    shop.happen(...Array.from({ length: 20 }, (_, n) => ({ orderId: 1_000 + n })));
    await until(() => healthy.received.length === 20, 30_000);
    // A third of the limit of an attempt.
    expect(performance.now() - begun).toBeLessThan(5_000);
    for (const one of six) await one.stop();
  }, 60_000);

  it('get pauses for slow successes, as for silence', async () => {
    const [dripping] = slow;
    const webhook = await shop.create(dripping!.url);
    shop.happen(...Array.from({ length: 20 }, (_, n) => ({ orderId: n + 1 })));
    await until(async () => {
      const { rowCount } = await shop.sql.query('SELECT 1 FROM webhook_queues WHERE webhook_id = $1 AND paused_until > now()', [webhook.id]);
      return rowCount === 1;
    }, 20_000);
    const delivered = (await shop.deliveries(webhook)).filter(({ state }) => state === 'delivered');
    expect(delivered.length).toBeGreaterThanOrEqual(5);
    // The owner sees a success, with its duration.
    for (const { attempts } of delivered) {
      expect(attempts).toEqual([{ at: expect.any(String), status: 200, durationMs: expect.any(Number) }]);
      expect(attempts[0]!.durationMs).toBeGreaterThanOrEqual(990);
    }
  }, 60_000);
});
