// The webhook receiver of the measurements: answers 204 and records the first arrival of each event.
import { createServer } from 'node:http';

/** @type {Map<string, number>} milliseconds from the event to its first arrival, by webhook-id */
let seen = new Map();
let delayMs = 0;

const server = createServer((request, response) => {
  const id = /** @type {string} */ (request.headers['webhook-id']);
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    if (request.url === '/hook' && !seen.has(id)) seen.set(id, Date.now() - Date.parse(JSON.parse(body).timestamp));
    if (delayMs === 0) response.writeHead(204).end();
    else setTimeout(() => response.writeHead(204).end(), delayMs);
  });
});
process.on('message', (/** @type {{ reset?: boolean, delayMs?: number, lags?: boolean }} */ { reset, delayMs: delay, lags }) => {
  if (reset) seen = new Map();
  if (delay !== undefined) delayMs = delay;
  process.send?.({ count: seen.size, ...(lags && { lags: [...seen.values()] }) });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send?.({ url: `http://127.0.0.1:${port}/hook`, port });
});
