import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { enqueueDeliveries } from './deliveries.repository.js';
import { DeliveryWorker } from './delivery-worker.js';
import { findCauses, lockWebhookWatermark, setWebhookWatermark } from './webhook-watermark.repository.js';

/** How often the log is looked at although nobody said that it has grown: whoever logged events may have died of it. */
const intervalMs = 2_000;

/**
 * Makes the deliveries of events that are in the log, behind the stream: what waits for an endpoint's queue keeps no frame
 * back. The replica that has logged events pokes its own; any number of replicas may do it, one at a time.
 */
@Injectable()
export class DeliveryMaker extends BackgroundLoop {
  constructor(
    private readonly database: Database,
    private readonly worker: DeliveryWorker,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'make deliveries', intervalMs }, () => this.make(), logger);
  }

  /** @returns whether there is more to do at once */
  private async make(): Promise<boolean> {
    const made = await this.database.transaction(async (tx) => {
      const stretch = await lockWebhookWatermark(tx);
      if (!stretch) return undefined;
      if (tracing) tracing.causedBy(await findCauses(tx, stretch));
      enqueueDeliveries(tx, stretch);
      setWebhookWatermark(tx, stretch);
      return stretch;
    }, { keepsPlans: true });
    if (!made) return false;
    this.worker.poke();
    return made.upTo < made.head;
  }
}
