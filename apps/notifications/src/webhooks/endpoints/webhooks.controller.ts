import { Controller } from '@nestjs/common';
import {
  type CreatedWebhook,
  type CreateWebhook,
  type DeleteWebhook,
  type Delivery,
  type DeliveryDetails,
  type GetDelivery,
  type GetWebhook,
  type ListDeliveries,
  type ListWebhooks,
  type ListWebhooksOf,
  notifications,
  type PreviewReplay,
  type ReplaceWebhook,
  type ReplayEvents,
  type Replay,
  type ResendDelivery,
  type RotatedSecret,
  type RotateWebhookSecret,
  type TestWebhook,
  type Webhook,
} from '@plant-shop/contracts/notifications';
import type { Page, Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { DeliveriesService } from './deliveries.service.js';
import { WebhooksService } from './webhooks.service.js';

@Controller()
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly deliveries: DeliveriesService,
  ) {}

  @Answers(notifications.createWebhook)
  createWebhook({ webhook }: CreateWebhook, context: RpcContext): Promise<Versioned<CreatedWebhook> | Replayed> {
    return this.webhooks.create(context, webhook);
  }

  @Answers(notifications.listWebhooks)
  listWebhooks(request: ListWebhooks, context: RpcContext): Promise<Page<Webhook>> {
    return this.webhooks.list(context, request);
  }

  @Answers(notifications.listWebhooksOf)
  listWebhooksOf(request: ListWebhooksOf): Promise<Page<Webhook>> {
    return this.webhooks.listOf(request);
  }

  @Answers(notifications.getWebhook)
  getWebhook({ webhookId }: GetWebhook, context: RpcContext): Promise<Versioned<Webhook>> {
    return this.webhooks.get(context, webhookId);
  }

  @Answers(notifications.replaceWebhook)
  replaceWebhook(request: ReplaceWebhook, context: RpcContext): Promise<Versioned<Webhook>> {
    return this.webhooks.replace(context, request);
  }

  @Answers(notifications.deleteWebhook)
  deleteWebhook(request: DeleteWebhook, context: RpcContext): Promise<{ id: string }> {
    return this.webhooks.delete(context, request);
  }

  @Answers(notifications.rotateWebhookSecret)
  rotateWebhookSecret(request: RotateWebhookSecret, context: RpcContext): Promise<RotatedSecret | Replayed> {
    return this.webhooks.rotateSecret(context, request);
  }

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
