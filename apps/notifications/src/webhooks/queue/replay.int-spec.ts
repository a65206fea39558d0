import { describe, expect, it } from '@jest/globals';
import { type Delivery, notifications } from '@plant-shop/contracts/notifications';
import { encodeCursor } from '../../log/history.js';
import { WebhookOwner } from '../webhook-owner.spec.fixture.js';
import { epoch } from '../webhooks.spec.fixture.js';

const owner = WebhookOwner.ofEachTest();

describe('resending', () => {
  it('sends the same id and bytes again, as a new delivery (slow)', async () => {
    const webhook = await owner.create();
    const [event] = owner.happen({ orderId: 1 });
    await owner.allEnded(webhook, 1);
    const [original] = (await owner.deliveries(webhook)) as [Delivery];
    const [copy, again] = await owner.twice(notifications.resendDelivery, { webhookId: webhook.id, deliveryId: original.id });
    expect(again).toEqual(copy);
    expect(copy).toMatchObject({ eventId: event!.id, orderId: 1, attempts: [] });
    await owner.allEnded(webhook, 2);
    expect(owner.receiver.ids).toEqual([event!.id, event!.id]);
    expect(owner.receiver.received[1]!.body).toBe(event!.body);
  });

  it('is refused for unknown deliveries, those of another endpoint, and disabled endpoints', async () => {
    const [webhook, other] = await Promise.all([owner.create(), owner.create()]);
    owner.happen({ orderId: 1 });
    await Promise.all([owner.allEnded(webhook, 1), owner.allEnded(other, 1)]);
    const [foreign] = (await owner.deliveries(other)) as [Delivery];
    await expect(owner.resend(webhook.id, 999_999)).rejects.toMatchObject({ code: 'delivery-not-found' });
    await expect(owner.resend(webhook.id, foreign.id)).rejects.toMatchObject({ code: 'delivery-not-found' });
    await owner.replace(other, { state: 'disabled' });
    await expect(owner.resend(other.id, foreign.id)).rejects.toMatchObject({ code: 'webhook-disabled' });
  });
});

describe('a replay', () => {
  it('sends all past events, in order, to an endpoint that was created later (slow)', async () => {
    const { receiver } = owner;
    const before = await owner.create();
    const events = owner.happen(...Array.from({ length: 12 }, (_, n) => ({ orderId: 1 + (n % 3) })));
    await owner.allEnded(before, 12);
    const webhook = await owner.create();
    receiver.received.length = 0;
    expect(await owner.replayAsPreviewed(webhook.id)).toEqual({ scheduled: 12 });
    await owner.allEnded(webhook, 12);
    expect([...receiver.ids].sort()).toEqual(events.map(({ id }) => id));
    for (const order of [0, 1, 2]) {
      const wanted = events.filter((_event, n) => n % 3 === order).map(({ id }) => id);
      expect(receiver.ids.filter((id) => wanted.includes(id))).toEqual(wanted);
    }
    expect(new Set(receiver.received.map(({ body }) => body))).toEqual(new Set(events.map(({ body }) => body)));
  });

  it('sends an event that has two numbers once, in its first place (slow)', async () => {
    const before = await owner.create();
    const [first, second] = owner.happen({ orderId: 1 }, { orderId: 1 });
    await owner.allEnded(before, 2);
    owner.shop.happenAgain(first!);
    const last = owner.happen({ orderId: 1 });
    await owner.allEnded(before, 3);
    await owner.shop.webhooksHaveFollowed();
    const webhook = await owner.create();
    owner.receiver.received.length = 0;
    expect(await owner.replay(webhook.id)).toEqual({ scheduled: 3 });
    await owner.allEnded(webhook, 3);
    expect(owner.receiver.ids).toEqual([first, second, ...last].map((event) => event!.id));
  });

  it('starts after a cursor or at a time, ends before a time, and can be of one order (slow)', async () => {
    const webhook = await owner.create();
    const events = owner.happen({ orderId: 1 }, { orderId: 2 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const between = new Date().toISOString();
    events.push(...owner.happen({ orderId: 3 }));
    await owner.allEnded(webhook, 3);
    const fromCursor = encodeCursor({ epoch, seq: events[0]!.seq });
    let deliveries = 3;
    for (const [range, scheduled] of [[{ fromCursor }, 2], [{ since: between }, 1], [{ until: between }, 2], [{ fromCursor, until: between }, 1], [{ orderId: 3 }, 1], [{ orderId: 1, since: between }, 0]] as const) {
      expect(await owner.replayAsPreviewed(webhook.id, range)).toEqual({ scheduled });
      await owner.allEnded(webhook, (deliveries += scheduled));
    }
    const wrong = ['nonsense', encodeCursor({ epoch: '00000000-0000-4000-8000-00000000abcd', seq: 1 }), encodeCursor({ epoch, seq: 1_000_000 })];
    for (const one of wrong) await expect(owner.replay(webhook.id, { fromCursor: one })).rejects.toMatchObject({ code: 'invalid-cursor' });
  });

  it('can be limited to failed events that were not delivered otherwise (slow)', async () => {
    const { receiver } = owner;
    const webhook = await owner.create();
    receiver.answer = ({ body }, response) => response.writeHead(/"orderId":[12],/.test(body) ? 500 : 200).end();
    const events = owner.happen({ orderId: 1 }, { orderId: 2 }, { orderId: 3 });
    await owner.allEnded(webhook, 3);
    receiver.answer = (_received, response) => response.writeHead(200).end();
    const failed = (await owner.deliveries(webhook)).find(({ eventId }) => eventId === events[1]!.id)!;
    await owner.resend(webhook.id, failed.id);
    await owner.allEnded(webhook, 4);
    receiver.received.length = 0;
    expect(await owner.replayAsPreviewed(webhook.id, { onlyFailed: true })).toEqual({ scheduled: 1 });
    await owner.allEnded(webhook, 5);
    expect(receiver.ids).toEqual([events[0]!.id]);
    expect(await owner.replay(webhook.id, { onlyFailed: true })).toEqual({ scheduled: 0 });
  });

  it.each([-600, 600])("finds events since a time, although this database's clock was set by %i s (slow)", async (seconds) => {
    const webhook = await owner.create();
    owner.happen({ orderId: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const since = new Date().toISOString();
    const events = owner.happen({ orderId: 2 }, { orderId: 3 });
    await owner.allEnded(webhook, 3);
    await owner.shop.sql.query(`UPDATE event_log SET logged_at = logged_at + $1 * interval '1 second' WHERE seq >= $2`, [seconds, events[0]!.seq]);
    expect(await owner.replay(webhook.id, { since })).toEqual({ scheduled: 2 });
    await owner.allEnded(webhook, 5);
    expect(await owner.replay(webhook.id, { since: new Date().toISOString() })).toEqual({ scheduled: 0 });
  });

  it('is one at a time, until all of it was attempted or waits behind a failure (slow)', async () => {
    const { receiver } = owner;
    const webhook = await owner.create();
    owner.happen({ orderId: 1 }, { orderId: 1 }, { orderId: 2 });
    await owner.allEnded(webhook, 3);
    let answer: (() => void) | undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    receiver.answer = ({ body }, response) => void answered.then(() => response.writeHead(body.includes('"orderId":1,') ? 500 : 200).end());
    const codes = await Promise.all(Array.from({ length: 40 }, () => owner.replay(webhook.id).then(() => 'ok', (error: unknown) => (error as { code: string }).code)));
    expect(codes.sort()).toEqual(['ok', ...Array<string>(39).fill('replay-in-progress')]);
    await expect(owner.replay(webhook.id)).rejects.toMatchObject({ code: 'replay-in-progress', details: { waiting: 3 } });
    answer!();
    await owner.allEnded(webhook, 6);
    expect(await owner.replay(webhook.id, { onlyFailed: true })).toEqual({ scheduled: 0 });
  });

  it('schedules at most 10,000 in one call, and returns a cursor to continue (slow)', async () => {
    // Disabled, because only scheduling matters here.
    const webhook = await owner.create();
    await owner.replace(webhook, { state: 'disabled' });
    await owner.shop.log(10_500, owner.no);
    await owner.shop.webhooksHaveFollowed();
    await owner.shop.sql.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [webhook.id]);
    const first = await owner.replayAsPreviewed(webhook.id);
    expect(first).toEqual({ scheduled: 10_000, cursor: expect.any(String) });
    await expect(owner.replay(webhook.id, { fromCursor: first.cursor! })).rejects.toMatchObject({ code: 'replay-in-progress', details: { waiting: 10_000 } });
    await owner.shop.sql.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [webhook.id]);
    expect(await owner.replay(webhook.id, { fromCursor: first.cursor! })).toEqual({ scheduled: 500 });
  });
});
