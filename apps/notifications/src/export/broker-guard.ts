import { Inject, Injectable } from '@nestjs/common';
import { invalidInput } from '@plant-shop/platform/errors';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { resolveByDns, TargetGuard, TargetRefused } from '../webhooks/endpoints/target-guard.js';
import { Held } from './broker.js';

/** The rule for targets of webhooks, for brokers: `tls` for https, `nats` for http. The shop's own broker needs `DESTINATION_ALLOWED_TARGETS`. */
@Injectable()
export class BrokerGuard {
  private readonly guard: TargetGuard;

  constructor(@Inject(NOTIFICATIONS_OPTIONS) { webhooks, destinations }: NotificationsOptions) {
    this.guard = new TargetGuard({ httpsOnly: webhooks.httpsOnly, allowed: destinations.allowedTargets }, resolveByDns);
  }

  /** Throws `invalid-input` for a URL that may not be connected to. Its name is resolved later. */
  assertAllowed(url: string): void {
    const fault = this.guard.faultOf(asHttp(url).href);
    if (fault !== undefined) throw invalidInput([{ pointer: '/destination/url', detail: fault.replace('an https', 'a tls') }]);
  }

  /** @throws Held */
  async addressesOf(url: string): Promise<readonly string[]> {
    try {
      return await this.guard.addressesOf(asHttp(url));
    } catch (error) {
      if (error instanceof TargetRefused) throw new Held('refused', error.message);
      throw new Held('unreachable', (error as Error).message);
    }
  }
}

/** Only URLs of HTTP have their hosts normalised. */
const asHttp = (url: string): URL => new URL(url.replace(/^tls:/i, 'https:').replace(/^nats:/i, 'http:'));
