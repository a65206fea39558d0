import autocannon from 'autocannon';

/**
 * @typedef {object} Load
 * @property {string} url
 * @property {number} connections each sends its next request when it has the answer to the one before
 * @property {number} seconds
 * @property {(connection: number) => autocannon.Request[]} requests what a connection sends, in turn
 */

/**
 * Closed-loop load. Every answer must be a 200: a refusal is no order.
 * @param {Load} load
 * @returns {Promise<{ requests: number, perSecond: number, p50: number, p99: number }>} latencies in milliseconds
 */
export async function measure({ url, connections, seconds, requests }) {
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
