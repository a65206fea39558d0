import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';
import { publishedShop } from '../start/published-shop.mjs';

export const usage = `Prints order events as they arrive, one line each, until Ctrl-C.

  npm run listen                       new events
  npm run listen -- --cursor earliest  all stored events, then new ones
  npm run listen -- --cursor <cursor>  events after the one with this cursor
  npm run listen -- --types <types>    a comma-separated list of order.status_changed (the default),
                                       order.placed, order.shipped, refund.due,
                                       stock.low, stock.out and stock.back
  npm run listen -- --json             each frame as received
  npm run listen -- --url <address>    another stream, such as ws://127.0.0.1:8081
  npm run listen -- --key <key>        an API key other than the demo's (or API_KEY)

It finds the shop of npm start by RUN_FILE or DATA_DIR, or that of docker compose by STREAM_PORT and .env.
After a disconnect it reconnects and resumes after the last event.
Exit code: 0 stopped, 1 refused.`;

/** The demo key, which has all permissions. */
export const DEMO_KEY = 'special-key';

const PATH = '/v1/orders/updates';

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {boolean} json
 * @property {string} cursor
 * @property {string} [types] comma-separated
 * @property {string} [url]
 * @property {string} [key]
 */

/** @param {string[]} args @returns {Options} */
export function parseOptions(args) {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  const text = /** @type {const} */ ({ type: 'string' });
  try {
    const known = { help: { ...flag, short: 'h' }, json: flag, cursor: { ...text, default: 'latest' }, types: text, url: text, key: text };
    return parseArgs({ args, options: known }).values;
  } catch (error) {
    throw new StartError(`${/** @type {Error} */ (error).message}\n\n${usage}`);
  }
}

/**
 * Returns the stream's address and the key for it.
 * @param {Pick<Options, 'url' | 'key' | 'types'>} options
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ url: URL, key: string }>}
 */
export async function streamOf({ url, key, types }, env) {
  const address = addressOf(url ?? (await ownStream(env)));
  if (types !== undefined) address.searchParams.set('types', types);
  return { url: address, key: key || env['API_KEY'] || DEMO_KEY };
}

/** @param {NodeJS.ProcessEnv} env */
async function ownStream(env) {
  const { streamUrl, from } = await publishedShop(env, 'name its stream with --url');
  if (!streamUrl) throw new StartError(`The shop of ${from} is still starting.`);
  return streamUrl;
}

/** @param {string} text of the whole address, or of the stream's port alone @returns {URL} ws or wss */
function addressOf(text) {
  const url = URL.parse(text.replace(/^http/i, 'ws'));
  if (!url || !/^wss?:$/.test(url.protocol)) throw new StartError(`--url ${text}: expected an address like ws://127.0.0.1:8081.`);
  if (url.pathname === '/') url.pathname = PATH;
  return url;
}
