import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { customer, TestWebhooks } from '../webhooks.spec.fixture.js';

const rate = 20;

describe('posts to one host', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  let arrivals: { path: string; at: number }[];
  beforeEach(async () => {
    shop = await TestWebhooks.start({ ratePerHost: rate });
    await shop.addReplica({ ratePerHost: rate });
    receiver = await Receiver.start();
    arrivals = [];
  });
  afterEach(async () => {
    await receiver.stop();
    await shop.stop();
  });

  const answerWith = (status: number): void => {
    receiver.answer = ({ path }, response) => {
      arrivals.push({ path, at: performance.now() });
      response.writeHead(status).end();
    };
  };
  const secondsUntil = (n: number, begunAt: number): number => (arrivals[n - 1]!.at - begunAt) / 1_000;

  it('keep to its rate over all endpoints, owners and replicas while it does not accept them, and owners get as many each', async () => {
    answerWith(404);
    for (const owner of [1, 1, 1, 1, 2]) await shop.create(`${receiver.url}/${owner}`, {}, customer(owner));
    const begunAt = performance.now();
    shop.happen(...Array.from({ length: 80 }, (_, n) => ({ orderId: n + 1, owner: 1 + (n % 2) })));
    await until(() => Promise.resolve(arrivals.length >= 80), 20_000);
    // Besides the rate, a fifth of a second at once.
    expect(secondsUntil(80, begunAt)).toBeGreaterThan((80 - rate / 5) / rate);
    const ofSecond = arrivals.slice(20, 60).filter(({ path }) => path.endsWith('/2')).length;
    // Shared by endpoints, it would be 8.
    expect(ofSecond).toBeGreaterThan(10);
    expect(ofSecond).toBeLessThan(28);
  }, 40_000);

  it('double each second while it accepts them', async () => {
    answerWith(200);
    for (let n = 0; n < 10; n++) await shop.create(receiver.url);
    const begunAt = performance.now();
    shop.happen(...Array.from({ length: 60 }, (_, n) => ({ orderId: n + 1 })));
    await until(() => Promise.resolve(arrivals.length === 600), 20_000);
    // At the first rate they would take 30 s.
    expect(secondsUntil(rate, begunAt)).toBeGreaterThan(0.5);
    expect(secondsUntil(600, begunAt)).toBeLessThan(20);
  }, 40_000);
});
