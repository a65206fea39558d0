import { createHmac } from 'node:crypto';
import { signingKeyOf } from '../endpoints/signing-secret.js';

// Standard Webhooks 1.0 (standardwebhooks.com), symmetric signatures.

/**
 * Returns the headers that sign an attempt, with one signature for each secret.
 * @param at when this attempt begins: receivers refuse old timestamps
 */
export function signedHeaders(eventId: string, at: Date, body: string, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = signingKeyOf(secret);
    return `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
