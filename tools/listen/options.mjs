import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';
import { publishedShop } from '../start/published-shop.mjs';

export const usage = `Prints order events as they come, one line each, until Ctrl-C.

  npm run listen                       from now on
  npm run listen -- --cursor earliest  all that are still kept, then on
  npm run listen -- --cursor <cursor>  after the event that had this cursor
  npm run listen -- --types <types>    of these types: a comma list of order.status_changed (what comes without
                                       this), order.placed, order.shipped and refund.due
  npm run listen -- --json             each frame as it came
  npm run listen -- --url <address>    another stream, as ws://127.0.0.1:8081
  npm run listen -- --key <key>        another API key than the demo's (or API_KEY)

It finds the shop of npm start by RUN_FILE or DATA_DIR, else that of docker compose by STREAM_PORT and .env. A connection that ends is made again, from the last event on.
Exit code: 0 stopped, 1 refused.`;

/** The demo data's key with every permission. */
export const DEMO_KEY = 'special-key';

const PATH = '/v1/orders/updates';

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {boolean} json
 * @property {string} cursor
 * @property {string} [types] a comma list
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
 * Where the stream is, and what lets us in.
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
  const { streamUrl, from } = await publishedShop(env, 'its stream by --url');
  if (!streamUrl) throw new StartError(`The shop of ${from} is not open yet.`);
  return streamUrl;
}

/** @param {string} text of the whole address, or of the stream's port alone @returns {URL} ws or wss */
function addressOf(text) {
  const url = URL.parse(text.replace(/^http/i, 'ws'));
  if (!url || !/^wss?:$/.test(url.protocol)) throw new StartError(`--url ${text}: an address like ws://127.0.0.1:8081 is needed.`);
  if (url.pathname === '/') url.pathname = PATH;
  return url;
}
