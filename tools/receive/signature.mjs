import { createHmac, timingSafeEqual } from 'node:crypto';

// Standard Webhooks 1.0, with Node alone: this runs where no package is installed. Tests sign with the library `standardwebhooks`.

/** Older or newer deliveries may be replayed ones. */
const TOLERANCE_S = 300;

/**
 * Says why a delivery is not to be believed; undefined when one of the secrets has signed it in the last five minutes.
 * @param {string} body the bytes as they came: parsed and written again they would differ
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {readonly string[]} secrets as the shop shows them: whsec_ and base64
 * @returns {string | undefined}
 */
export function faultOf(body, headers, secrets) {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'no signature';
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= TOLERANCE_S)) return `signed at another time (${timestamp})`;
  if (secrets.length === 0) return 'no secret is known';
  // Several signatures: the shop signs with the old and the new secret while one is rotated.
  const given = signatures.split(' ').flatMap((one) => (one.startsWith('v1,') ? [Buffer.from(one.slice(3), 'base64')] : []));
  const isSigned = secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
    return given.some((one) => one.length === wanted.length && timingSafeEqual(one, wanted));
  });
  return isSigned ? undefined : 'signed with another secret, or changed on its way';
}
