import { Inject, Injectable, type OnApplicationBootstrap, Optional } from '@nestjs/common';
import type { LoggedRange } from '@plant-shop/events/follower';
import { LogTail } from '../stream/log-tail.js';
import { AllOrdersDeliveryMaker } from '../webhooks/all-orders-delivery-maker.js';
import { DeliveryMaker } from '../webhooks/delivery-maker.js';
import { Fanout } from './fanout.js';

/**
 * Brings news of the log to the parts that this replica's role has, and to the other replicas. A replica of the stream makes no deliveries of
 * what it logs, so those with webhooks begin when they hear of it; of anything that they do not hear of they know by looking.
 */
@Injectable()
export class Announcer implements OnApplicationBootstrap {
  constructor(
    private readonly fanout: Fanout,
    @Optional() @Inject(LogTail) private readonly tail?: LogTail,
    @Optional() @Inject(DeliveryMaker) private readonly webhooks?: DeliveryMaker,
    @Optional() @Inject(AllOrdersDeliveryMaker) private readonly webhooksOfAllOrders?: AllOrdersDeliveryMaker,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.webhooks) return;
    this.fanout.hear((_, isOthersToDeliver) => {
      if (isOthersToDeliver) this.pokeWebhooks();
    });
  }

  /** This replica has added events to the log. */
  announce(logged: LoggedRange): void {
    this.pokeWebhooks();
    const reached = this.fanout.ownReached(logged);
    if (this.tail) this.tail.announce(reached);
    else this.fanout.tellOthers(reached);
  }

  private pokeWebhooks(): void {
    this.webhooks?.poke();
    this.webhooksOfAllOrders?.poke();
  }
}
