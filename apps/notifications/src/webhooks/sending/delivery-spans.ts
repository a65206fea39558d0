import type { OpenSpan, Tracing } from '@plant-shop/platform/telemetry/tracing';
import type { ClaimedDelivery } from '../queue/queue.repository.js';
import type { SendResult } from './webhook-sender.js';

/** Begins the span of one delivery: the attempt and its record. Linked with the trace that caused the event. */
export const beginDelivery = (on: Tracing, { webhookId, eventId, recordedAttempts, traceparent }: ClaimedDelivery): OpenSpan =>
  on.begin({
    name: 'deliver webhook',
    kind: 'consumer',
    isRoot: true,
    links: [traceparent],
    attributes: {
      'messaging.operation.type': 'process',
      'messaging.message.id': eventId,
      'plant_shop.webhook.id': webhookId,
      'http.request.resend_count': recordedAttempts,
    },
  });

/** Ends the span of an attempt. It has no URL, which may contain a secret of the endpoint's owner. */
export function endAttempt(span: OpenSpan, { status, isCut }: SendResult): void {
  if (status !== undefined) span.set({ 'http.response.status_code': status });
  if (status === undefined) span.end(isCut ? 'cut' : 'no answer');
  else span.end(status >= 300 ? String(status) : undefined);
}
