import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { StartError } from './errors.mjs';
import { runningShop } from './run-file.mjs';
import { ROOT } from './toolchain.mjs';

const LIMIT_MS = 3_000;

/**
 * Addresses of a shop for clients on this machine.
 * @typedef {object} PublishedShop
 * @property {string | undefined} gatewayUrl undefined while the shop is not open yet
 * @property {string | undefined} streamUrl
 * @property {string} from source of the addresses, for messages
 * @property {boolean} isInContainers
 */

/**
 * Finds the shop of `npm start` by its run file, else that of `docker compose up` by its ports. A run file that the caller names
 * (RUN_FILE, DATA_DIR) must exist: no other shop takes its place.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} otherwise what else the user can do, for the error
 * @param {string} [root] of the checkout
 * @returns {Promise<PublishedShop>}
 * @throws {StartError} when there is neither
 */
export async function publishedShop(env, otherwise, root = ROOT) {
  try {
    const { gatewayUrl, streamUrl, path } = runningShop(env, otherwise);
    return { gatewayUrl, streamUrl, from: path, isInContainers: false };
  } catch (error) {
    if (!(error instanceof StartError) || env['RUN_FILE'] || env['DATA_DIR']) throw error;
    const ports = composePorts(env, root);
    const gatewayUrl = `http://localhost:${ports.gateway}`;
    if (!(await answers(`${gatewayUrl}/readyz`))) throw new StartError(`${error.message} Docker Compose's shop does not respond at ${gatewayUrl}.`);
    return { gatewayUrl, streamUrl: `ws://127.0.0.1:${ports.stream}`, from: gatewayUrl, isInContainers: true };
  }
}

/** Returns the ports that Compose publishes: from the environment, else from .env, else docker-compose.yml's defaults. @param {NodeJS.ProcessEnv} env @param {string} root */
function composePorts(env, root) {
  const file = join(root, '.env');
  const settings = { ...(existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}), ...env };
  return { gateway: settings['GATEWAY_PORT'] || '8080', stream: settings['STREAM_PORT'] || '8081' };
}

/** @param {string} url */
async function answers(url) {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })).body?.cancel();
    return true;
  } catch {
    return false; // nothing listens there
  }
}
