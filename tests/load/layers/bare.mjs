import fastify from 'fastify';
import { Connection } from './connection.mjs';

const connections = 16;
export const constant = { id: 7, name: 'Monstera', photoUrls: [], tags: [], status: 'available' };

/**
 * Sends requests over several connections, one at a time each.
 * @param {import('node:http').Server} server
 * @param {Buffer} request
 */
export function requests(server, request) {
  const open = Array.from({ length: connections }, () => new Connection(server));
  return async (/** @type {number} */ times) => {
    let left = times;
    await Promise.all(
      open.map(async (connection) => {
        while (left-- > 0) {
          const response = await connection.ask(request);
          if (!response.startsWith('HTTP/1.1 200 ')) throw new Error(`Not a 200:\n${response}`);
        }
      }),
    );
  };
}

/** Starts the anchor: bare Fastify with a constant response. @param {(app: import('fastify').FastifyInstance) => void | Promise<void>} [change] */
export async function withFastify(change) {
  const app = fastify();
  await change?.(app);
  app.get('/v3/plant/:plantId', async () => constant);
  await app.ready();
  return { server: app.server, end: () => app.close() };
}
