import { createHmac, randomBytes } from 'node:crypto';

// Standard Webhooks 1.0 (standardwebhooks.com), symmetric signatures.

const prefix = 'whsec_';
const bytes = 32;

/** What signs an endpoint's deliveries, as its owner is shown it. */
export const newSecret = (): string => prefix + randomBytes(bytes).toString('base64');

/** @param at when this attempt begins: receivers refuse what is old */
export function signedHeaders(eventId: string, at: Date, body: string, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
