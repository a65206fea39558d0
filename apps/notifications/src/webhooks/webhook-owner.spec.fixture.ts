import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import {
  type CreatedWebhook,
  type Delivery,
  type NewWebhook,
  notifications,
  type Replay,
  type ReplayRange,
  type RotatedSecret,
  type Webhook,
} from '@plant-shop/contracts/notifications';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { contextFor } from '@plant-shop/service-testing/service';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { type Change, customer, TestWebhooks } from './webhooks.spec.fixture.js';

/** A new customer for each test, with a receiver and without webhooks. Times are scaled down by a million. */
export class WebhookOwner {
  shop!: TestWebhooks;
  receiver!: Receiver;
  no = 0;

  /** Sets up all tests of the file or `describe` that it is called in. */
  static ofEachTest(): WebhookOwner {
    const owner = new WebhookOwner();
    beforeAll(async () => {
      owner.shop = await TestWebhooks.start({ timeScale: 0.000_001, perUser: 3, checkAllOwnersMs: 100 });
    });
    afterAll(() => owner.shop.stop());
    beforeEach(async () => {
      owner.no++;
      owner.receiver = await Receiver.start();
    });
    afterEach(() => owner.receiver.stop());
    return owner;
  }

  get principal(): Principal {
    return customer(this.no);
  }

  create(given: Partial<NewWebhook> = {}): Promise<CreatedWebhook> {
    return this.shop.create(this.receiver.url, given, this.principal);
  }

  replace(webhook: Webhook, given: object): Promise<Webhook> {
    return this.shop.replace(webhook, given, this.principal);
  }

  get(webhookId: string, as = this.principal): Promise<Webhook> {
    return this.shop.call(notifications.getWebhook, { webhookId }, as);
  }

  rotate(webhookId: string, graceSeconds?: number): Promise<RotatedSecret> {
    return this.call(notifications.rotateWebhookSecret, { webhookId, rotation: graceSeconds === undefined ? {} : { graceSeconds } });
  }

  deliveries(webhook: { id: string }): Promise<Delivery[]> {
    return this.shop.deliveries(webhook, this.principal);
  }

  resend(webhookId: string, deliveryId: number): Promise<Delivery> {
    return this.call(notifications.resendDelivery, { webhookId, deliveryId });
  }

  replay(webhookId: string, range: ReplayRange = {}): Promise<Replay> {
    return this.call(notifications.replayEvents, { webhookId, replay: range });
  }

  /** Also checks that a preview says the same and does nothing. */
  async replayAsPreviewed(webhookId: string, range: ReplayRange = {}): Promise<Replay> {
    const preview = await this.call(notifications.previewReplay, Object.assign({ webhookId }, range));
    const replay = await this.replay(webhookId, range);
    expect(preview).toEqual(replay);
    return replay;
  }

  call<Payload, Answer>(operation: Operation<Payload, Answer>, payload: Payload): Promise<Answer> {
    return this.shop.call(operation, payload, this.principal);
  }

  /** Calls an operation twice with the same Idempotency-Key. Returns both answers. */
  async twice<Payload, Answer>(operation: Operation<Payload, Answer>, payload: Payload): Promise<Answer[]> {
    const key = `key of ${this.no}`;
    const answers = [];
    for (const replayed of [undefined, true]) {
      const raw = await this.shop.caller.client.callRaw(operation, payload, contextFor(this.principal), key);
      expect(raw.replayed).toBe(replayed);
      answers.push(JSON.parse(Buffer.from(raw.payload).toString()) as Answer);
    }
    return answers;
  }

  /** Adds events, of this customer's orders by default. */
  happen(...changes: readonly Change[]): ReturnType<TestWebhooks['happen']> {
    return this.shop.happen(...changes.map((one) => ({ owner: this.no, ...one })));
  }

  allEnded(webhook: { id: string }, count: number): Promise<void> {
    return until(async () => {
      const now = await this.deliveries(webhook);
      return now.length === count && now.every(({ state }) => state === 'delivered' || state === 'failed');
    });
  }
}
