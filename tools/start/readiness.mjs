import { StartError } from './errors.mjs';
import { sleep } from './processes.mjs';

/**
 * Waits until a URL returns 200, or a body that is enough.
 * @param {string} url
 * @param {{ limitMs: number, signal: AbortSignal, isEnough?: (body: string) => boolean }} options
 */
export async function answers(url, { limitMs, signal, isEnough = () => false }) {
  let last = 'no answer';
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(50)) {
    signal.throwIfAborted();
    try {
      const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) });
      const body = await response.text();
      if (response.ok || isEnough(body)) return;
      last = `${response.status} ${body}`;
    } catch (error) {
      signal.throwIfAborted();
      last = `no answer (${error instanceof Error ? (error.cause ?? error) : error})`;
    }
  }
  throw new StartError(`${url} did not return 200 within ${limitMs / 1000} s; last: ${last}`);
}
