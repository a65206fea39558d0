// A probe for deploy/release.sh: asks each service for what does not change, by a connection for each request, so that all pods are asked.
import { get } from 'node:http';

const { PROBE_URL = '', PROBE_KEY = '', PROBE_PLANT = '', PROBE_ORDER = '', PROBE_USER = '' } = process.env;
/** Enough that a third of the pods is hardly missed. */
const TIMES = 10;

/** @type {[path: string, isRight: (body: any) => boolean][]} */
const QUESTIONS = [
  [`/v3/plant/${PROBE_PLANT}`, ({ name }) => name === 'Monstera'],
  // The gateway keeps plants, and asks the catalogue for pages of sizes that it has not seen.
  ['/v3/plant/search?q=Monstera&limit={size}', (found) => found[0]?.name === 'Monstera'],
  // Nobody pays it, so it expires after a while.
  [`/v3/store/order/${PROBE_ORDER}`, ({ status }) => ['placed', 'cancelled'].includes(status)],
  [`/v3/user/${PROBE_USER}`, ({ username }) => username === PROBE_USER],
  ['/v3/webhooks', ([first]) => first?.name === 'Check'],
];

/** @param {string} path @returns {Promise<{ status: number | undefined, text: string }>} */
const ask = (path) =>
  new Promise((resolve, reject) => {
    const request = get(PROBE_URL + path, { headers: { api_key: PROBE_KEY }, agent: false, timeout: 15_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part)).on('error', reject).on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time'))).on('error', reject);
  });

const answers = await Promise.all(
  QUESTIONS.flatMap(([path, isRight]) => Array.from({ length: TIMES }, async () => {
    const { status, text } = await ask(path.replace('{size}', `${1 + Math.floor(100 * Math.random())}`)).catch((/** @type {Error} */ { message }) => ({ status: undefined, text: message }));
    return status === 200 && isRight(JSON.parse(text)) ? undefined : `GET ${path.replace(/\d+$/, '…')}: ${status ?? 'no answer:'} ${text.slice(0, 80)}`;
  })),
);
const bad = answers.filter((one) => one !== undefined);
if (bad.length > 0) console.error(`${bad.length} of ${answers.length} answers are wrong, such as ${bad[0]}`);
process.exitCode = bad.length > 0 ? 1 : 0;
