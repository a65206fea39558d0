import { parseArgs } from 'node:util';
import { DEMO_KEY } from '../listen/options.mjs';
import { StartError } from '../start/errors.mjs';
import { publishedShop } from '../start/published-shop.mjs';

export const usage = `Receives webhooks on this machine, checks their signatures and prints one line each, until Ctrl-C.

  npm run receive -- --register         registers a webhook, and deletes it at the end
  npm run receive -- --register --keep  keeps the webhook, and prints its secret
  npm run receive -- --register --types <types>   a comma-separated list of order.status_changed (the default),
                                        order.placed, order.shipped, refund.due,
                                        stock.low, stock.out and stock.back
  npm run receive -- --secret <whsec_>  for an existing webhook; repeat it while a secret is rotated
  npm run receive -- --register --docker   for a shop in containers, which cannot reach 127.0.0.1: listens on all
                                        addresses, and registers host.docker.internal
  npm run receive -- --port 9000        a port other than 8090; the demo allows 8000 and 9000 too
  npm run receive -- --url <address>    another shop, such as http://localhost:8080
  npm run receive -- --key <key>        an API key other than the demo's (or API_KEY)

It finds the shop of npm start by RUN_FILE or DATA_DIR, or that of docker compose by GATEWAY_PORT and .env. Without
--docker it listens only on 127.0.0.1.`;

const DEFAULT_PORT = 8090;

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {number} port
 * @property {boolean} docker the shop runs in containers
 * @property {boolean} register
 * @property {boolean} keep
 * @property {string[]} secrets
 * @property {string[]} [types] of the registered webhook
 * @property {string} [url]
 * @property {string} [key]
 */

/** @param {string[]} args @returns {Options} */
export function parseOptions(args) {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  const text = /** @type {const} */ ({ type: 'string' });
  const known = /** @type {const} */ ({ help: { ...flag, short: 'h' }, docker: flag, register: flag, keep: flag, port: text, types: text, url: text, key: text, secret: { ...text, multiple: true } });
  try {
    const { port, secret, types, ...values } = parseArgs({ args, options: known }).values;
    return { ...values, port: portOf(port), secrets: secretsOf(secret ?? []), ...(types !== undefined && { types: types.split(',') }) };
  } catch (error) {
    throw new StartError(`${/** @type {Error} */ (error).message}\n\n${usage}`);
  }
}

/** @param {string | undefined} text */
function portOf(text) {
  const port = Number(text ?? DEFAULT_PORT);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new Error(`--port ${text} is not a port (0 to 65535; 0 chooses a free one).`);
}

/** @param {string[]} secrets */
function secretsOf(secrets) {
  if (secrets.every((secret) => /^whsec_[A-Za-z0-9+/]+=*$/.test(secret))) return secrets;
  throw new Error('--secret: expected the webhook\'s secret, which begins with whsec_.');
}

/**
 * Returns the address at which webhooks are registered, and the key for it.
 * @param {Pick<Options, 'url' | 'key' | 'docker'>} options
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ url: string, key: string }>} url: without a path
 */
export async function shopOf({ url, key, docker }, env) {
  return { url: new URL(url ?? (await ownShop(docker, env))).origin, key: key || env['API_KEY'] || DEMO_KEY };
}

/** @param {boolean} docker @param {NodeJS.ProcessEnv} env */
async function ownShop(docker, env) {
  const { gatewayUrl, from, isInContainers } = await publishedShop(env, 'name its address with --url');
  if (!gatewayUrl) throw new StartError(`The shop of ${from} is still starting.`);
  if (isInContainers && !docker) throw new StartError(`The shop at ${gatewayUrl} runs in containers, which cannot reach this machine's 127.0.0.1. Add --docker.`);
  return gatewayUrl;
}
