import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../../tools/start/ports.mjs';
import { answers } from '../../../tools/start/readiness.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

/**
 * Starts the storefront of the examples beside a shop.
 * @param {{ gatewayUrl: string, streamUrl: string }} shop
 * @param {AbortSignal} [signal] that the shop has ended
 */
export async function startStorefront({ gatewayUrl, streamUrl }, signal = new AbortController().signal) {
  const PORT = `${await freePort()}`;
  const env = { ...process.env, SHOP_URL: gatewayUrl, STREAM_URL: streamUrl, PORT };
  const program = spawn(process.execPath, [join(ROOT, 'examples/storefront/start.mjs')], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const stop = async () => {
    if (program.kill()) await once(program, 'exit');
  };
  const address = `http://127.0.0.1:${PORT}/`;
  try {
    await answers(address, { limitMs: 60_000, signal });
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, stop };
}
