import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';
import { publishedShop } from '../start/published-shop.mjs';

export const usage = `Imports plants from a file, or exports all plants to one.

  npm run plants -- import plants.ndjson   creates and replaces plants by their ids
  npm run plants -- export plants.csv      replaces the file once the export is complete
  npm run plants -- … --format csv         for files that end in neither .csv nor .ndjson
  npm run plants -- … --url <address>      another shop, as http://127.0.0.1:8080
  npm run plants -- … --key <key>          another API key than the demo's (or API_KEY); it needs write:plants

NDJSON has one plant a line, as the API has it. CSV has a line of names first: id, name, status, category, tags, photoUrls,
quantity; tags and photoUrls are lists separated by |, category and tags may have an id before a colon (3:Foliage).
An import that is cut off continues where it was; one that was stopped can be started again.
Exit code: 0 all done, 1 otherwise, also when lines were refused.`;

/** The demo data's key with every permission. */
const DEMO_KEY = 'special-key';

/** @typedef {'csv' | 'ndjson'} Format */

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {'import' | 'export'} command
 * @property {string} file
 * @property {Format} format
 * @property {string} [url]
 * @property {string} [key]
 */

/** @param {string[]} args @returns {Options} */
export function parseOptions(args) {
  const text = /** @type {const} */ ({ type: 'string' });
  const wrong = (/** @type {string} */ why) => new StartError(`${why}\n\n${usage}`);
  let parsed;
  try {
    const options = { help: /** @type {const} */ ({ type: 'boolean', default: false, short: 'h' }), format: text, url: text, key: text };
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw wrong(/** @type {Error} */ (error).message);
  }
  const { values, positionals: [command = '', file = '', ...rest] } = parsed;
  const { help, format = extname(file).slice(1) === 'csv' ? 'csv' : 'ndjson', url, key } = values;
  if (!help && command !== 'import' && command !== 'export') throw wrong('Say import or export.');
  if (!help && (file === '' || rest.length > 0)) throw wrong('Name one file.');
  if (format !== 'csv' && format !== 'ndjson') throw wrong('--format must be csv or ndjson.');
  return { help, command: /** @type {'import' | 'export'} */ (command), file, format, ...(url !== undefined && { url }), ...(key !== undefined && { key }) };
}

/**
 * Where the shop is, and the key for it.
 * @param {Pick<Options, 'url' | 'key'>} options @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ url: string, key: string }>}
 */
export async function shopOf({ url, key }, env) {
  const address = URL.parse(url ?? (await ownGateway(env)));
  if (!address || !/^https?:$/.test(address.protocol)) throw new StartError(`--url ${url}: an address like http://127.0.0.1:8080 is needed.`);
  return { url: address.origin, key: key || env['API_KEY'] || DEMO_KEY };
}

/** @param {NodeJS.ProcessEnv} env */
async function ownGateway(env) {
  const { gatewayUrl, from } = await publishedShop(env, 'its gateway by --url');
  if (!gatewayUrl) throw new StartError(`The shop of ${from} is not open yet.`);
  return gatewayUrl;
}
