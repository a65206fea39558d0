import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** `fetch` would use twice as much CPU of the measured machine. */
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/** Calls the shop's API, by default with the demo key. @param {string} gatewayUrl @param {Record<string, string>} credentials */
export function clientOf(gatewayUrl, credentials = { api_key: 'special-key' }) {
  /** @param {string} method @param {string} path @param {object} [body] @returns {Promise<any>} */
  return async (method, path, body) => {
    const headers = { ...credentials, 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const sent = request(`${gatewayUrl}/v3${path}`, { agent, method, headers }).end(body && JSON.stringify(body));
    const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
    const answered = await text(answer);
    if (answer.statusCode !== 200 && answer.statusCode !== 201) throw new Error(`${method} ${path}: ${answer.statusCode} ${answered}`);
    return JSON.parse(answered);
  };
}

/**
 * Runs `work` for 0 to n-1, at most `width` at a time.
 * @template T
 * @param {number} n @param {number} width @param {(index: number) => Promise<T>} work @returns {Promise<T[]>}
 */
export async function inParallel(n, width, work) {
  /** @type {T[]} */
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < n) {
      const index = next++;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, n) }, worker));
  return results;
}

/** Returns the percentile of sorted values. @param {number[]} values @param {number} share */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
