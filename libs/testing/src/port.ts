import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections (from 32,768 on, mostly), and above those of well-known services. The processes
 * of a chaos run have ports from 24,000 on (tests/chaos/stack.mjs): it may run beside other tests.
 */
const first = 15_000;
const last = 23_999;

/**
 * A loopback port for a server that goes away and comes back. Nobody else is given it meanwhile: one that the system chose may
 * become the port of somebody's connection, and then the server cannot come back.
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
