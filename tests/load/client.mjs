import { Agent, request } from 'undici';

/** `fetch` takes ten times as much of the machine that is measured. */
const dispatcher = new Agent({ connections: 256, pipelining: 1 });

/** Calls the shop's API with the demo key. @param {string} gatewayUrl */
export function clientOf(gatewayUrl) {
  const headers = { api_key: 'special-key', 'content-type': 'application/json' };
  /** @param {import('undici').Dispatcher.HttpMethod} method @param {string} path @param {object} [body] @returns {Promise<any>} */
  return async (method, path, body) => {
    const { statusCode, body: answer } = await request(`${gatewayUrl}/v3${path}`, {
      dispatcher,
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text}`);
    return JSON.parse(text);
  };
}

/**
 * Does `work` for 0 to n-1, at most `width` at the same time.
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

/** The given share of sorted values lies at or below this one. @param {number[]} values @param {number} share */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
