import { Controller, Inject, Injectable } from '@nestjs/common';
import { isStockEvent } from '@plant-shop/contracts/events';
import { permits, readingStock } from '@plant-shop/contracts/permissions';
import {
  type Delivery,
  type DeliveryDetails,
  type GetDelivery,
  type ListDeliveries,
  notifications,
  type PreviewReplay,
  type Replay,
  type ReplayEvents,
  type ReplayRange,
  type ResendDelivery,
  type TestWebhook,
} from '@plant-shop/contracts/notifications';
import { Cipher } from '@plant-shop/platform/cipher';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { SemaphoreByKey } from '@plant-shop/platform/patterns/semaphore';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Page, Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { v7 as uuidv7 } from 'uuid';
import {
  existingDelivery,
  findDelivery,
  insertCopy,
  insertTest,
  listDeliveriesOf,
  testBody,
  toDelivery,
} from '../queue/deliveries.repository.js';
import { DueSignal } from '../queue/due-signal.js';
import { QueueClock } from '../queue/queue-clock.js';
import { lockRoom } from '../queue/pending-limits.js';
import { previewReplay, replayEvents } from '../queue/replay.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions, type PendingLimits } from '../../options.js';
import type { WebhookEntity } from '../../database.js';
import { secretsAt } from '../endpoints/signing-secrets.js';
import { assertEnabled, assertMayUseWebhooks } from '../endpoints/webhook.js';
import { findWebhook, lockWebhook } from '../endpoints/webhooks.repository.js';
import { fixedHeaders, signedHeaders } from './webhook-sender.js';

/** Connections of the database that `schedule` may take: a replay holds one for as long as it takes to insert 10,000 deliveries. */
const scheduledAtOnce = 2;

/** The operations on deliveries. Those that send are for the principal's own endpoints only. */
@Injectable()
export class DeliveriesService {
  private readonly limits: PendingLimits;
  private readonly turns = new SemaphoreByKey(scheduledAtOnce);

  constructor(
    private readonly database: Database,
    private readonly clock: QueueClock,
    private readonly due: DueSignal,
    private readonly cipher: Cipher,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
  ) {
    this.limits = webhooks.pending;
  }

  test(context: RpcContext, webhookId: string): Promise<Delivery | Replayed> {
    return this.schedule(context, webhookId, async (tx, webhook) => {
      assertEnabled(webhook);
      const id = await insertTest(tx, webhook.id, uuidv7(), testBody(webhook.id, new Date()));
      return toDelivery(existingDelivery(await findDelivery(tx, webhook.id, id)));
    });
  }

  /** Returns a page, newest first. */
  async list({ principal }: RpcContext, { webhookId, state, ...requested }: ListDeliveries): Promise<Page<Delivery>> {
    assertMayUseWebhooks(principal);
    const { id } = await findWebhook(this.database, principal, webhookId);
    const paging = new Paging('deliveries', byNumber, [id, state ?? 'any']);
    const bounds = paging.bounds(requested);
    const rows = await listDeliveriesOf(this.database, id, state, bounds);
    return paging.page(rows, bounds, { entry: toDelivery, position: (row) => row.id });
  }

  /** Hides what an event says from a credential that may not read other users' orders, or stock. */
  async get({ principal }: RpcContext, webhookId: string, deliveryId: number): Promise<DeliveryDetails> {
    assertMayUseWebhooks(principal);
    const { id } = await findWebhook(this.database, principal, webhookId);
    const delivery = existingDelivery(await findDelivery(this.database, id, deliveryId));
    const { eventId, body, response, refusals, acceptance, attempts } = delivery;
    const last = attempts.at(-1);
    const isHidden = isStockEvent((JSON.parse(body) as { event: string }).event)
      ? !permits(readingStock, principal)
      : delivery.ofOthers && !principal.permissions.includes('read:orders');
    if (!last || isHidden) return toDelivery(delivery);
    const headers = { ...fixedHeaders, ...signedHeaders(eventId, new Date(last.at), body, []), 'webhook-signature': '[redacted]' };
    const secretsOf = await secretsAt(this.database, this.cipher, id);
    const detailed = attempts.map((attempt, n) => {
      const { 'webhook-signature': signature, ...signed } = signedHeaders(eventId, new Date(attempt.at), body, secretsOf(new Date(attempt.at)));
      const sent = { ...fixedHeaders, ...signed, ...(signature && { 'webhook-signature': signature }) };
      const answer = attempt.error === undefined ? acceptance : refusals?.[n + 1];
      return { ...attempt, request: { headers: sent }, ...(answer && { response: { headers: {}, body: '', ...answer } }) };
    });
    return { ...toDelivery(delivery), attempts: detailed, request: { headers, body }, ...(response && { response }) };
  }

  /** Sends an event again at once, as a new delivery outside the order's lane: it waits for none, and none waits for it. */
  resend(context: RpcContext, webhookId: string, deliveryId: number): Promise<Delivery | Replayed> {
    return this.schedule(context, webhookId, async (tx, webhook) => {
      const original = existingDelivery(await findDelivery(tx, webhook.id, deliveryId));
      assertEnabled(webhook);
      return toDelivery(existingDelivery(await findDelivery(tx, webhook.id, await insertCopy(tx, webhook.id, original.id))));
    });
  }

  replay(context: RpcContext, webhookId: string, range: ReplayRange): Promise<Replay | Replayed> {
    return this.schedule(context, webhookId, (tx, webhook, room) => replayEvents(tx, webhook.id, range, room));
  }

  /** Counts what a replay would send. */
  async previewReplay({ principal }: RpcContext, { webhookId, ...range }: PreviewReplay): Promise<Replay> {
    assertMayUseWebhooks(principal);
    return this.database.transaction(async (tx) => {
      const { id } = await findWebhook(tx, principal, webhookId);
      return previewReplay(tx, id, range);
    });
  }

  /**
   * Runs work that enqueues up to `room` deliveries for the principal's own endpoint, once per Idempotency-Key. Requests of one owner wait for
   * each other here: in `lockRoom` each would hold a connection, and those that send deliveries would get none.
   */
  private async schedule<T extends object>(
    { principal, idempotency }: RpcContext,
    webhookId: string,
    work: (tx: Transaction, webhook: WebhookEntity, room: number) => Promise<T>,
  ): Promise<T | Replayed> {
    assertMayUseWebhooks(principal);
    const answer = await this.turns.run(principal.subject, () =>
      this.clock.transaction((tx) =>
        runOnce(tx, idempotency, async () => {
          const webhook = await lockWebhook(tx, principal, webhookId);
          return work(tx, webhook, await lockRoom(tx, webhook, this.limits));
        }),
      ),
    );
    this.due.notify();
    return answer;
  }
}

@Controller()
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @Answers(notifications.testWebhook)
  testWebhook({ webhookId }: TestWebhook, context: RpcContext): Promise<Delivery | Replayed> {
    return this.deliveries.test(context, webhookId);
  }

  @Answers(notifications.listDeliveries)
  listDeliveries(request: ListDeliveries, context: RpcContext): Promise<Page<Delivery>> {
    return this.deliveries.list(context, request);
  }

  @Answers(notifications.getDelivery)
  getDelivery({ webhookId, deliveryId }: GetDelivery, context: RpcContext): Promise<DeliveryDetails> {
    return this.deliveries.get(context, webhookId, deliveryId);
  }

  @Answers(notifications.resendDelivery)
  resendDelivery({ webhookId, deliveryId }: ResendDelivery, context: RpcContext): Promise<Delivery | Replayed> {
    return this.deliveries.resend(context, webhookId, deliveryId);
  }

  @Answers(notifications.replayEvents)
  replayEvents({ webhookId, replay }: ReplayEvents, context: RpcContext): Promise<Replay | Replayed> {
    return this.deliveries.replay(context, webhookId, replay);
  }

  @Answers(notifications.previewReplay)
  previewReplay(request: PreviewReplay, context: RpcContext): Promise<Replay> {
    return this.deliveries.previewReplay(context, request);
  }
}
