import type { ServerResponse } from 'node:http';
import { overloaded } from '@plant-shop/platform/errors';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Registry } from 'prom-client';

/** A request's share of the limits, until it is released. */
export interface Slot {
  bodyBytes: number;
  isReleased: boolean;
}

/**
 * Limits concurrent requests and the bytes of their bodies. Excess requests are rejected before any work is done, so that
 * accepted requests are answered in time and memory stays bounded.
 */
export class ConcurrencyLimiter {
  private requests = 0;
  private bodyBytes = 0;

  constructor(private readonly max: { readonly requests: number; readonly bodyBytes: number }) {}

  /** Takes a slot, which must be released at the end of the request. @throws CodedError `overloaded` */
  acquire(response: ServerResponse): Slot {
    if (this.requests >= this.max.requests) {
      // Closes rejected connections: Node accepts one connection per turn of the event loop, and clients that retry at once on
      // open connections lengthen every turn, so that new clients wait for more than 20 s. A client that must reconnect waits
      // in the kernel's accept queue, at no cost to this process.
      response.setHeader('connection', 'close');
      throw overloaded('The gateway');
    }
    this.requests++;
    return { bodyBytes: 0, isReleased: false };
  }

  release(slot: Slot): void {
    if (slot.isReleased) return;
    slot.isReleased = true;
    this.requests--;
    this.bodyBytes -= slot.bodyBytes;
  }

  /**
   * Reserves memory for a body as it arrives. Counts bytes received rather than Content-Length, so announcing a large body
   * reserves nothing.
   * @throws CodedError `overloaded`
   */
  reserve(slot: Slot, bytes: number): void {
    if (slot.isReleased) return;
    if (this.bodyBytes + bytes > this.max.bodyBytes) throw overloaded('The gateway');
    slot.bodyBytes += bytes;
    this.bodyBytes += bytes;
  }

  observe(metrics: Registry): void {
    gauge(metrics, 'http_requests_in_flight', 'Accepted requests without a complete response', () => this.requests);
    gauge(metrics, 'http_body_bytes_in_flight', 'Bytes of request bodies in memory', () => this.bodyBytes);
  }
}
