import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The range below ephemeral ports (usually from 32,768) and above the ports of well-known services. Shops, which may run beside these
 * tests, have ports from 24,000 (tools/start/ports.mjs).
 */
const first = 15_000;
const last = 23_999;

/**
 * Returns a free loopback port for a server that restarts on the same port. It is not an ephemeral port: while the server is down,
 * the system might assign one to an outgoing connection, and the server could not restart.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * (last - first + 1));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
