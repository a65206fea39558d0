import { createHmac, timingSafeEqual } from 'node:crypto';

// Standard Webhooks 1.0 without packages, since this runs where none is installed. Tests sign with the library `standardwebhooks`.

/** Deliveries with a timestamp further off may be replays. */
const TOLERANCE_S = 300;

/**
 * Returns why verification fails, or undefined if one of the secrets signed the delivery within the last five minutes.
 * @param {string} body the bytes as received: parsing and serialising would change them
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {readonly string[]} secrets as the shop prints them: whsec_ and base64
 * @returns {string | undefined}
 */
export function faultOf(body, headers, secrets) {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'no signature';
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= TOLERANCE_S)) return `timestamp out of tolerance (${timestamp})`;
  if (secrets.length === 0) return 'no secret configured';
  // During a rotation, the shop signs with the old and the new secret.
  const given = signatures.split(' ').flatMap((one) => (one.startsWith('v1,') ? [Buffer.from(one.slice(3), 'base64')] : []));
  const isSigned = secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
    return given.some((one) => one.length === wanted.length && timingSafeEqual(one, wanted));
  });
  return isSigned ? undefined : 'signed with another secret, or altered in transit';
}
