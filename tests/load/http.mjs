import autocannon from 'autocannon';
import { findWrk, runWrk } from './wrk.mjs';

/**
 * @typedef {object} Load
 * @property {string} url
 * @property {number} connections each sends its next request after the response to the previous one
 * @property {number} seconds
 * @property {(connection: number) => autocannon.Request[]} requests the requests of a connection, in order
 */

/** Number of request lists from which wrk chooses. */
const LISTS = 20;

/**
 * Generates closed-loop load by wrk if available, otherwise by autocannon. Throws unless every response is 200.
 * @param {Load} load
 * @returns {Promise<{ requests: number, perSecond: number, p50: number, p99: number }>} latencies in milliseconds
 */
export async function measure(load) {
  const wrk = await findWrk();
  if (!wrk) return byAutocannon(load);
  const requests = Array.from({ length: LISTS }, (_, n) => load.requests(n)).flat();
  const { wrong, seconds, ...result } = await runWrk(wrk, { ...load, requests });
  if (wrong > 0) throw new Error(`${wrong} of ${result.requests} requests to ${load.url} failed`);
  return { requests: result.requests, perSecond: result.requests / seconds, p50: result.p50, p99: result.p99 };
}

/** @param {Load} load */
async function byAutocannon({ url, connections, seconds, requests }) {
  let connection = 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    setupClient: (client) => client.setRequests(requests(connection++)),
  });
  const wrong = result.non2xx + result.errors + result.timeouts;
  if (wrong > 0) {
    throw new Error(`${wrong} of ${result.requests.total} requests to ${url} failed: ${JSON.stringify(result.statusCodeStats)}`);
  }
  return {
    requests: result.requests.total,
    perSecond: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}
