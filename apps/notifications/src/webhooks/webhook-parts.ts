import type { Provider } from '@nestjs/common';
import { AnswersSweeper } from '@plant-shop/platform/idempotency/answers-sweeper';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { AllOrdersDeliveryMaker } from './all-orders-delivery-maker.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveryMaker } from './delivery-maker.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { DeliveryWorker } from './delivery-worker.js';
import { placesFor } from './fair-queue.js';
import { Owners } from './owners.js';
import { resolveByDns } from './resolver.js';
import { SecretBox } from './secret-box.js';
import { Sender } from './sender.js';
import { TargetGuard } from './target-guard.js';
import { WebhooksService } from './webhooks.service.js';
import { WebhooksSweeper } from './webhooks-sweeper.js';

/** What webhooks are made of. */
export const webhookParts: Provider[] = [
  {
    provide: TargetGuard,
    inject: [NOTIFICATIONS_OPTIONS],
    useFactory: ({ webhooks }: NotificationsOptions) =>
      new TargetGuard({ httpsOnly: webhooks.httpsOnly, allowed: webhooks.allowedTargets }, resolveByDns),
  },
  {
    provide: Sender,
    inject: [TargetGuard, NOTIFICATIONS_OPTIONS],
    useFactory: (guard: TargetGuard, { webhooks: { attemptLimitMs, bodyLimitMs, inFlight, ca } }: NotificationsOptions) =>
      // Owners may share an origin: nobody waits for a connection there because of another one.
      new Sender(guard, { attemptLimitMs, bodyLimitMs, maxConnectionsPerOrigin: placesFor(inFlight), ...(ca !== undefined && { ca }) }),
  },
  {
    provide: SecretBox,
    inject: [NOTIFICATIONS_OPTIONS],
    useFactory: ({ webhooks }: NotificationsOptions) => new SecretBox(webhooks.secrets),
  },
  DeliveryMetrics,
  DeliveryWorker,
  DeliveryMaker,
  AllOrdersDeliveryMaker,
  WebhooksService,
  DeliveriesService,
  Owners,
  WebhooksSweeper,
  AnswersSweeper,
];
