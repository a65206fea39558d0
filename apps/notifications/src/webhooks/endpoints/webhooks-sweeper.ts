import { Inject, Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Gauge, Registry } from 'prom-client';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import {
  deleteEnded,
  deleteRemains,
  endDeliveries,
  findHeldTooLong,
  findNoLongerVisible,
} from '../queue/sweeps.repository.js';
import type { WebhooksOptions } from '../../options.js';
import { deleteUnusedHosts } from '../queue/host-rates.js';
import { QueueClock } from '../queue/queue-clock.js';
import { countOutdatedSecrets, deleteEndedSecrets, reencryptSecrets } from './signing-secrets.js';

const batch = 500;

const heldTooLong = 'Held for too long: the webhook was disabled.';
const noLongerVisible = 'The owner may no longer see this order.';

/** Ends deliveries that are obsolete, deletes old rows, in small batches, and re-encrypts secrets after a change of the key. */
@Injectable()
export class WebhooksSweeper extends BackgroundLoop {
  private readonly limits: Pick<WebhooksOptions, 'holdMs' | 'keepEndedMs'>;
  private readonly outdatedSecrets: Gauge;

  constructor(
    private readonly database: Database,
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    metrics: Registry,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'sweep webhooks', intervalMs: webhooks.sweepMs }, () => this.sweep(), logger);
    this.limits = webhooks;
    this.outdatedSecrets = new Gauge({
      name: 'webhook_secrets_to_reencrypt',
      help: 'Secrets of webhooks that are encrypted with a former key',
      registers: [metrics],
    });
  }

  /** Returns whether there may be more to sweep. */
  async sweep(): Promise<boolean> {
    const { holdMs, keepEndedMs } = this.limits;
    const { database, clock, cipher } = this;
    const counts = [
      await clock.transaction(async (tx) => endDeliveries(tx, await findHeldTooLong(tx, holdMs, batch), heldTooLong)),
      await clock.transaction(async (tx) => endDeliveries(tx, await findNoLongerVisible(tx, batch), noLongerVisible)),
      await database.transaction((tx) => deleteEnded(tx, keepEndedMs, batch)),
      await database.transaction((tx) => deleteRemains(tx, batch)),
      await database.transaction((tx) => reencryptSecrets(tx, cipher, batch)),
    ];
    await database.transaction((tx) => deleteEndedSecrets(tx));
    await database.transaction((tx) => deleteUnusedHosts(tx));
    this.outdatedSecrets.set(await countOutdatedSecrets(database, cipher.keyId));
    return counts.some((count) => count === batch);
  }
}
