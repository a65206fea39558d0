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
 * @returns {Promise<{ requests: number, perSecond: number, p50: number, p99: number, loadCpu: number }>} latencies in milliseconds;
 *   CPU of the generator, in microseconds a request
 */
export async function measure(load) {
  const wrk = await findWrk();
  if (!wrk) return byAutocannon(load);
  const requests = Array.from({ length: LISTS }, (_, n) => load.requests(n)).flat();
  const { wrong, seconds, cpuSeconds, ...result } = await runWrk(wrk, { ...load, requests });
  if (wrong > 0) throw new Error(`${wrong} of ${result.requests} requests to ${load.url} failed`);
  return { ...result, perSecond: result.requests / seconds, loadCpu: (cpuSeconds * 1e6) / result.requests };
}

/** @param {Load} load */
async function byAutocannon({ url, connections, seconds, requests }) {
  let connection = 0;
  const before = process.cpuUsage();
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    setupClient: (client) => client.setRequests(requests(connection++)),
  });
  const { user, system } = process.cpuUsage(before);
  const wrong = result.non2xx + result.errors + result.timeouts;
  if (wrong > 0) {
    throw new Error(`${wrong} of ${result.requests.total} requests to ${url} failed: ${JSON.stringify(result.statusCodeStats)}`);
  }
  return {
    requests: result.requests.total,
    perSecond: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    loadCpu: (user + system) / result.requests.total,
  };
}
