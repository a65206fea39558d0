import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';
import { publishedShop } from '../start/published-shop.mjs';

export const usage = `Imports plants from a file, or exports all plants to one.

  npm run plants -- import plants.ndjson   creates or replaces plants by id
  npm run plants -- export plants.csv      replaces the file when the export is complete
  npm run plants -- … --format csv         for file names that end in neither .csv nor .ndjson
  npm run plants -- … --url <address>      another shop, such as http://localhost:8080
  npm run plants -- … --key <key>          an API key other than the demo's (or API_KEY), with write:plants

NDJSON has one plant per line, as in the API. The first line of CSV names the columns: id, name, status, category, tags,
photoUrls, externalId, quantity. Commas, semicolons or tabs separate them. tags and photoUrls are separated by |; category and tags may
have an id before a colon (3:Foliage). quantity sets the free units; an empty one leaves those of an existing plant unchanged.
A row without an id changes the plant that has its externalId; without that too it creates one, once for each version of a file.
Files are UTF-8, or UTF-16 with a byte order mark. Text that a spreadsheet would run as a formula begins with an apostrophe.
An import that is cut off resumes at the first unprocessed line; importing a file again is safe.
Exit code: 0 if all lines were accepted, otherwise 1.`;

/** The demo key, which has all permissions. */
const DEMO_KEY = 'special-key';

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {'import' | 'export'} command
 * @property {string} file
 * @property {import('./csv.mjs').Format} format
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
  if (!help && command !== 'import' && command !== 'export') throw wrong('The first argument must be import or export.');
  if (!help && (file === '' || rest.length > 0)) throw wrong('Name exactly one file.');
  if (format !== 'csv' && format !== 'ndjson') throw wrong('--format must be csv or ndjson.');
  return { help, command: /** @type {'import' | 'export'} */ (command), file, format, ...(url !== undefined && { url }), ...(key !== undefined && { key }) };
}

/**
 * Returns the shop's address and the key for it.
 * @param {Pick<Options, 'url' | 'key'>} options @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ url: string, key: string }>}
 */
export async function shopOf({ url, key }, env) {
  const address = URL.parse(url ?? (await ownGateway(env)));
  if (!address || !/^https?:$/.test(address.protocol)) throw new StartError(`--url ${url}: expected an address like http://localhost:8080.`);
  return { url: address.origin, key: key || env['API_KEY'] || DEMO_KEY };
}

/** @param {NodeJS.ProcessEnv} env */
async function ownGateway(env) {
  const { gatewayUrl, from } = await publishedShop(env, 'name its gateway with --url');
  if (!gatewayUrl) throw new StartError(`The shop of ${from} is still starting.`);
  return gatewayUrl;
}
