import type { ServerResponse } from 'node:http';
import { overloaded } from '@plant-shop/platform/errors';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Registry } from 'prom-client';

/** What one request has taken of the process; until it is over. */
export interface Slot {
  bodyBytes: number;
  isReleased: boolean;
}

/**
 * What this process works on at one time, bounded: beyond it requests are turned away before anything is done for them, so
 * that those that were let in are answered in time, and memory stays what it is.
 */
export class ConcurrencyLimiter {
  private requests = 0;
  private bodyBytes = 0;

  constructor(private readonly max: { readonly requests: number; readonly bodyBytes: number }) {}

  /** Lasts until the answer is out or its connection is gone. @throws CodedError `overloaded` */
  acquire(response: ServerResponse): Slot {
    if (this.requests >= this.max.requests) {
      // Node accepts one connection a turn of its loop. Who asks again at once on an open one makes every turn long, and new
      // clients wait for more than 20 s; who has to connect again waits in the system's queue, and costs nothing there.
      response.setHeader('connection', 'close');
      throw overloaded('The gateway');
    }
    const slot = { bodyBytes: 0, isReleased: false };
    this.requests++;
    response.once('close', () => {
      slot.isReleased = true;
      this.requests--;
      this.bodyBytes -= slot.bodyBytes;
    });
    return slot;
  }

  /** Memory that a body takes, counted as it comes: who says much and sends little keeps nobody out. @throws CodedError `overloaded` */
  reserve(slot: Slot, bytes: number): void {
    if (slot.isReleased) return;
    if (this.bodyBytes + bytes > this.max.bodyBytes) throw overloaded('The gateway');
    slot.bodyBytes += bytes;
    this.bodyBytes += bytes;
  }

  observe(metrics: Registry): void {
    gauge(metrics, 'http_requests_in_flight', 'Requests that were let in and are not answered yet', () => this.requests);
    gauge(metrics, 'http_body_bytes_in_flight', 'Bytes of their bodies in memory', () => this.bodyBytes);
  }
}
