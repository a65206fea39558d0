import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/**
 * Sends JSON and returns what came, whatever its status.
 * @param {string} method @param {string} url @param {Record<string, string>} headers @param {object} [body]
 * @returns {Promise<{ status: number, headers: import('node:http').IncomingHttpHeaders, body: any }>}
 */
export async function send(method, url, headers, body) {
  const sent = request(url, { agent, method, headers: { 'content-type': 'application/json', ...headers } }).end(body && JSON.stringify(body));
  const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
  const answered = await text(answer);
  const isJson = /json/.test(answer.headers['content-type'] ?? '');
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: isJson ? JSON.parse(answered) : answered };
}

/** @param {string} what @param {{ status: number, body: any }} answer */
export const refusal = (what, { status, body }) => new Error(`${what}: ${status} ${JSON.stringify(body)}`);
