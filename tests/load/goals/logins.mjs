import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { Browser, expectPage } from '../../../libs/testing/dist/browser.js';
import { clientOf, percentile } from '../client.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */
/** @typedef {'known' | 'unknown'} Kind */

/**
 * An entrance that must not tell, by its time, whether there is such an account.
 * @typedef {object} Entrance
 * @property {string} what
 * @property {number} pairs
 * @property {(kind: Kind, n: number) => Promise<number>} time returns the milliseconds until the response was read
 */

const QUARTILES = [0.25, 0.5, 0.75];
const kinds = /** @type {const} */ (['known', 'unknown']);
const password = 'a-good-password';
const warmUp = 20;

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const loginGoals = {
  S4: async (bench) => {
    const pairs = bench.quick ? 100 : 500;
    await createUsers(bench, warmUp + pairs);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const rows = [];
    for (const entrance of entrancesOf(bench.stack.gatewayUrl, agent, pairs)) rows.push({ ...(await compare(entrance)), ...bench.shortened });
    agent.destroy();
    return rows;
  },
};

/** Each kind of user has an address: that of `known-…` is verified, that of `unverified-…` is not. @param {Bench} bench @param {number} count */
async function createUsers({ stack }, count) {
  const users = Array.from({ length: count }, (_, n) => ['known', 'unverified'].map((kind) => ({ username: `${kind}-${n}`, password }))).flat();
  const call = clientOf(stack.gatewayUrl);
  for (let n = 0; n < users.length; n += 100) await call('POST', '/user/createWithList', users.slice(n, n + 100));
  const url = new URL(stack.run.postgres.adminUrl);
  url.pathname = '/identity';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(`UPDATE users SET email = username || '@s4.test' WHERE username ~ '^(known|unverified)-'`);
    await client.query(`UPDATE users SET email_verified_at = now() WHERE username ~ '^known-'`);
  } finally {
    await client.end();
  }
}

/** Each name and network is used once for each entrance, except for the flood, so both kinds write the same rows. @param {string} url @param {Agent} agent @param {number} pairs @returns {Entrance[]} */
function entrancesOf(url, agent, pairs) {
  /** @param {string} username */
  const logIn = async (username) => {
    const { ms, body } = await timed(request(`${url}/v3/user/login?username=${username}&password=a-wrong-password`, { agent }).end());
    if (JSON.parse(body).code !== 'login-failed') throw new Error(`A wrong password got ${body}`);
    return ms;
  };
  /** @param {object} account @param {unknown} [expected] */
  const recover = async (account, expected = 200) => {
    const options = { agent, method: 'POST', headers: { 'content-type': 'application/json', ...ownNetwork() } };
    const { ms, body } = await timed(request(`${url}/v3/recovery`, options).end(JSON.stringify(account)));
    const { code } = JSON.parse(body);
    if (code !== (expected ?? code)) throw new Error(`A request for recovery got ${body}`);
    return { ms, code };
  };
  /** @type {unknown[]} */
  const flood = [];
  return [
    { what: 'refused logins', pairs, time: (kind, n) => logIn(`${kind}-${n}`) },
    { what: 'recovery by a verified address', pairs, time: async (kind, n) => (await recover({ email: `${kind}-${n}@s4.test` })).ms },
    { what: 'recovery by an unverified address', pairs, time: async (kind, n) => (await recover({ email: `${kind === 'known' ? 'unverified' : 'nobody'}-${n}@s4.test` })).ms },
    // Refused after the first ones, for both kinds by the same request.
    {
      what: 'recovery by one address, in a flood',
      pairs,
      time: async (kind, n) => {
        const { ms, code } = await recover({ email: `${kind}-0@s4.test` }, flood[n] ?? null);
        flood[n] = code;
        return ms;
      },
    },
    { what: 'recovery by a name, on the page', pairs, time: (kind, n) => recoverOnPage(url, `${kind}-${n}`) },
    // Each hashes two passwords.
    { what: 'sign-up with an address that an account has', pairs: pairs / 5, time: (kind, n) => signUp(url, `${kind}-${n}@s4.test`, `${kind}-new-${n}`) },
  ];
}

/** @param {Entrance} entrance @returns {Promise<import('../bench.mjs').Row>} */
async function compare({ what, pairs, time }) {
  const times = { known: /** @type {number[]} */ ([]), unknown: /** @type {number[]} */ ([]) };
  for (let n = 0; n < warmUp + pairs; n++) {
    // The kinds alternate in going first.
    for (const kind of n % 2 === 0 ? kinds : kinds.toReversed()) {
      const ms = await time(kind, n);
      if (n >= warmUp) times[kind].push(ms);
    }
  }
  const [known, unknown] = kinds.map((kind) => QUARTILES.map((share) => percentile(times[kind], share)));
  const [knownMedian = NaN, unknownMedian = NaN] = kinds.map((kind) => percentile(times[kind], 0.5));
  const ratio = Math.max(knownMedian / unknownMedian, unknownMedian / knownMedian);
  console.log(`${what}: ${pairs} of known accounts, ${pairs} of unknown ones: medians ${knownMedian.toFixed(2)} and ${unknownMedian.toFixed(2)} ms, ${((ratio - 1) * 100).toFixed(1)} % apart`);
  return { goal: 'S4', what: `${what}, ${pairs} known and ${pairs} unknown: the larger median against the smaller`, wanted: 1.05, ratio, atMost: true, detail: { quartilesMs: { known, unknown } } };
}

/** @param {import('node:http').ClientRequest} sent */
async function timed(sent) {
  const begun = performance.now();
  const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
  const body = await text(answer);
  return { ms: performance.now() - begun, body };
}

let networks = 0;
/** A client in a network of its own: mails are limited for each. */
function ownNetwork() {
  const n = ++networks;
  return { 'x-forwarded-for': `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}` };
}

/** @param {Browser} browser @param {import('../../../libs/testing/dist/browser.js').BrowserPage} page @param {Record<string, string>} typed */
async function submitTimed(browser, page, typed) {
  const [form] = page.forms;
  if (!form) throw new Error(`${page.url} has no form`);
  const body = new URLSearchParams({ ...form.fields, ...typed });
  const begun = performance.now();
  const answer = await browser.send('POST', new URL(form.action, page.url).href, { body, headers: ownNetwork() });
  await answer.text();
  if (answer.status !== 200 && answer.status !== 303) throw new Error(`${page.url} got ${answer.status}`);
  return performance.now() - begun;
}

/** @param {string} url @param {string} account */
async function recoverOnPage(url, account) {
  const browser = new Browser(url);
  return submitTimed(browser, expectPage(await browser.open('/account/recovery')), { account, action: 'send' });
}

/** @param {string} url @param {string} email @param {string} username */
async function signUp(url, email, username) {
  const browser = new Browser(url);
  const query = { client_id: 'plant-docs', response_type: 'code', scope: 'read:orders', redirect_uri: `${url}/docs/oauth2-redirect.html`, code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };
  const login = expectPage(await browser.open(`/oauth/authorize?${new URLSearchParams(query)}`));
  const page = expectPage(await browser.open(`${new URL(login.url).pathname}/sign-up`));
  return submitTimed(browser, page, { username, email, password, action: 'sign-up' });
}
