import type { ServerResponse } from 'node:http';
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
import { type Received, Receiver } from '@plant-shop/testing/receiver';
import { pause } from './clock.js';
import type { EventType, Follower, SeenEvent } from './history.js';
import type { Random } from './random.js';

/** A webhook endpoint that fails at times: with a 500, by closing the connection, or by a late answer. */
export class FlakyReceiver implements Follower {
  readonly events: SeenEvent[] = [];
  /** POSTs whose signature did not match the secret. */
  forged = 0;
  /** POSTs that were refused with 401, because the time in their signature was not now. They are sent again, with another time. */
  untimely = 0;
  secret = '';

  private constructor(readonly name: string, private readonly receiver: Receiver, private readonly random: Random, public failing: number, readonly types?: readonly EventType[]) {
    receiver.answer = (received, response) => void this.answer(received, response);
  }

  static async start(name: string, random: Random, failing: number, types?: readonly EventType[]): Promise<FlakyReceiver> {
    return new FlakyReceiver(name, await Receiver.start(), random, failing, types);
  }

  get url(): string {
    return this.receiver.url;
  }

  stop(): Promise<void> {
    return this.receiver.stop();
  }

  private async answer(received: Received, response: ServerResponse): Promise<void> {
    const fails = this.random.chance(this.failing);
    const how = this.random.between(1, 3);
    // An event answered with 500 counts as not received.
    if (fails && how === 1) return void response.writeHead(500).end();
    if (!this.take(received)) return void response.writeHead(401).end();
    if (fails && how === 2) return void response.destroy();
    if (fails) await pause(300);
    response.writeHead(204).end();
  }

  /** @returns whether the event is taken */
  private take({ id, headers, body }: Received): boolean {
    try {
      verifyWebhook(headers, body, this.secret);
      this.events.push({ id, body });
      return true;
    } catch (error) {
      if (error instanceof WebhookRefused && error.ageSeconds !== undefined) this.untimely++;
      else this.forged++;
      return false;
    }
  }
}
