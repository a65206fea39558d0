import type { Provider } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import { IdempotentResultsSweeper } from '@plant-shop/platform/patterns/idempotent-results';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { OwnerSync } from './endpoints/owner-sync.js';
import { resolveByDns, TargetGuard } from './endpoints/target-guard.js';
import { WebhooksSweeper } from './endpoints/webhooks-sweeper.js';
import { WebhooksService } from './endpoints/webhooks.service.js';
import { AllOrdersEnqueuer, OwnOrdersEnqueuer } from './queue/enqueuers.js';
import { DeliveryMetrics } from './queue/delivery-metrics.js';
import { DueSignal } from './queue/due-signal.js';
import { QueueClock } from './queue/queue-clock.js';
import { slotsFor } from './queue/fair-queue.js';
import { DeliveriesService } from './sending/deliveries.service.js';
import { DeliveryWorker } from './sending/delivery-worker.js';
import { WebhookSender } from './sending/webhook-sender.js';

/** The parts of a replica with webhooks. */
export const webhookProviders: Provider[] = [
  {
    provide: TargetGuard,
    inject: [NOTIFICATIONS_OPTIONS],
    useFactory: ({ webhooks }: NotificationsOptions) =>
      new TargetGuard({ httpsOnly: webhooks.httpsOnly, allowed: webhooks.allowedTargets }, resolveByDns),
  },
  {
    provide: WebhookSender,
    inject: [TargetGuard, NOTIFICATIONS_OPTIONS],
    useFactory: (guard: TargetGuard, { webhooks: { attemptLimitMs, bodyLimitMs, inFlight, ca } }: NotificationsOptions) =>
      // Owners may share an origin: enough connections that none waits because of another owner.
      new WebhookSender(guard, { attemptLimitMs, bodyLimitMs, maxConnectionsPerOrigin: slotsFor(inFlight), ...(ca !== undefined && { ca }) }),
  },
  DeliveryMetrics,
  DueSignal,
  DeliveryWorker,
  OwnOrdersEnqueuer,
  AllOrdersEnqueuer,
  WebhooksService,
  DeliveriesService,
  OwnerSync,
  WebhooksSweeper,
  IdempotentResultsSweeper,
];

/** What webhooks and mail need. */
export const queueProviders: Provider[] = [
  {
    provide: Cipher,
    inject: [NOTIFICATIONS_OPTIONS],
    useFactory: ({ webhooks }: NotificationsOptions) => new Cipher(webhooks.encryptionKeys, { name: 'webhook secrets', setting: 'NOTIFICATIONS_SECRET' }),
  },
  QueueClock,
];
