import { createServer } from 'node:http';
import { StartError } from '../start/errors.mjs';
import { faultOf } from './signature.mjs';

/** More than the size of any event. */
const LONGEST_BODY = 65_536;

/**
 * A delivery and the result of its verification.
 * @typedef {object} Received
 * @property {string} id the header webhook-id
 * @property {import('../listen/event-line.mjs').Event | undefined} event undefined if the body is not JSON
 * @property {string | undefined} fault why verification failed
 */

/**
 * Starts a receiver such as you would write: it refuses deliveries without a valid signature, and answers before it processes them.
 * @param {{ port: number, host: string }} address port 0: any free one
 * @param {(received: Received) => void} onReceived
 * @returns {Promise<{ port: number, trust: (secrets: string[]) => void, close: () => Promise<void> }>}
 */
export async function startReceiver({ port, host }, onReceived) {
  /** @type {string[]} */
  let trusted = [];
  const server = createServer((request, response) => {
    void answer(request, trusted).then(({ status, received }) => {
      response.writeHead(status).end();
      if (received) onReceived(received);
    }, () => request.destroy());
  });
  await new Promise((resolve, reject) => {
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => reject(why(error, port)));
    server.listen(port, host, () => resolve(undefined));
  });
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    trust: (secrets) => void (trusted = secrets),
    close: () => {
      const closed = new Promise((resolve) => server.close(() => resolve(undefined)));
      server.closeAllConnections();
      return closed;
    },
  };
}

/** @param {NodeJS.ErrnoException} error @param {number} port */
function why(error, port) {
  if (error.code !== 'EADDRINUSE') return error;
  return new StartError(`Port ${port} is taken. Choose another one: npm run receive -- --port 9090`);
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {string[]} secrets
 * @returns {Promise<{ status: number, received?: Received }>}
 */
async function answer(request, secrets) {
  if (request.method !== 'POST') return { status: 405 };
  const body = await bodyOf(request);
  if (body === undefined) return { status: 413 };
  const fault = faultOf(body, request.headers, secrets);
  const received = { id: `${request.headers['webhook-id'] ?? '(no webhook-id)'}`, event: parsed(body), fault };
  // The shop retries a refused delivery; a forger does not matter.
  return { status: fault === undefined ? 204 : 401, received };
}

/** @param {import('node:http').IncomingMessage} request @returns {Promise<string | undefined>} undefined if it is too long */
async function bodyOf(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > LONGEST_BODY) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** @param {string} body @returns {import('../listen/event-line.mjs').Event | undefined} */
function parsed(body) {
  try {
    const event = JSON.parse(body);
    return typeof event === 'object' && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}
