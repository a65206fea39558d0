import { StartError } from '../start/errors.mjs';

const LIMIT_MS = 10_000;

/** @typedef {{ url: string, key: string }} Shop */

/**
 * Registers a webhook for the order events that the key's owner may see.
 * @param {Shop} shop
 * @param {string} url of the receiver
 * @param {readonly string[]} [eventTypes] absent: only the default type
 * @returns {Promise<{ id: string, secret: string }>}
 */
export async function register(shop, url, eventTypes) {
  const webhook = { url, ...(eventTypes && { eventTypes }), description: 'npm run receive' };
  return /** @type {{ id: string, secret: string }} */ (await ask(shop, 'POST', '/v3/webhooks', webhook));
}

/** @param {Shop} shop @param {string} id */
export async function unregister(shop, id) {
  await ask(shop, 'DELETE', `/v3/webhooks/${id}`);
}

/**
 * @param {Shop} shop
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<unknown>} the response
 */
async function ask({ url, key }, method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { api_key: key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LIMIT_MS),
  }).catch((error) => {
    throw new StartError(`The shop at ${url} cannot be reached (${error.cause?.code ?? error.message}).`);
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const { detail, errors = [] } = /** @type {{ detail?: string, errors?: { pointer?: string, detail: string }[] }} */ (answer);
  const faults = errors.map((one) => `\n  ${one.pointer ?? ''} ${one.detail}`);
  throw new StartError(`${method} ${path} failed with ${response.status}: ${detail ?? ''}${faults.join('')}`);
}
