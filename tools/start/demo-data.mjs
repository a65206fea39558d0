// Demo data: plants, customers, orders in every state and a webhook, made through the public API.
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './errors.mjs';

const STAFF = { api_key: 'special-key' };
const LIMIT_MS = 15_000;
/** How often a request is sent that a busy machine answers with `unavailable` or `overloaded`: nothing has happened then. */
const ATTEMPTS = 30;
const PAUSE_MS = 1_000;
const DAY_MS = 86_400_000;

/** `name, category, tags, free units, status`; ids begin at 101, so that the tour's first plant can have id 7. */
const PLANTS = [
  ['Swiss cheese vine', 'Climbers', ['easy', 'shade'], 40],
  ['Fiddle-leaf fig', 'Trees', ['bright light'], 12],
  ['Peacock plant', 'Foliage', ['pet safe', 'shade'], 25],
  ['Chinese money plant', 'Foliage', ['easy', 'pet safe'], 60],
  ['White bird of paradise', 'Trees', ['bright light'], 8],
  ['ZZ plant', 'Foliage', ['easy', 'shade', 'drought tolerant'], 48],
  ['Heartleaf philodendron', 'Climbers', ['easy', 'shade'], 55],
  ['Zebra alocasia', 'Foliage', ['rare'], 4],
  ['Wax plant', 'Climbers', ['pet safe', 'fragrant'], 30],
  ['Chinese evergreen', 'Foliage', ['easy', 'shade'], 36],
  ['Snake plant', 'Succulents', ['easy', 'drought tolerant'], 75],
  ['Aloe vera', 'Succulents', ['drought tolerant', 'bright light'], 64],
  ['Jade plant', 'Succulents', ['drought tolerant', 'bright light'], 33],
  ['Boston fern', 'Ferns', ['pet safe', 'shade'], 22],
  ['Maidenhair fern', 'Ferns', ['pet safe', 'shade'], 9],
  ['Staghorn fern', 'Ferns', ['pet safe', 'rare'], 3],
  ['Moth orchid', 'Flowering', ['pet safe', 'fragrant'], 28],
  ['Peace lily', 'Flowering', ['shade'], 41],
  ['African violet', 'Flowering', ['pet safe'], 37],
  ['Kentia palm', 'Trees', ['pet safe', 'shade'], 6],
  ['Olive tree', 'Trees', ['bright light', 'drought tolerant'], 11],
  ['Lavender', 'Herbs', ['fragrant', 'bright light'], 90],
  ['Rosemary', 'Herbs', ['fragrant', 'bright light'], 84],
  ['Pink princess philodendron', 'Climbers', ['rare'], 0],
].map(([name, category, tags, quantity], n) => ({
  id: 101 + n,
  name: /** @type {string} */ (name),
  category: { name: /** @type {string} */ (category) },
  photoUrls: [],
  tags: /** @type {string[]} */ (tags).map((tag) => ({ name: tag })),
  // A plant without units is announced, but not for sale yet.
  status: quantity === 0 ? 'pending' : 'available',
  quantity: /** @type {number} */ (quantity),
}));

const CUSTOMERS = ['maria', 'jonas', 'aiko'].map((username, n) => ({
  id: 101 + n,
  username,
  email: `${username}@example.com`,
  password: `${username}-password`,
}));

/**
 * `waits` is paid and to be shipped: its ship date prevents the simulated delivery. `moves` is paid and
 * delivered by the simulation within seconds. `late` was cancelled before its payment arrived: a refund is due.
 * @typedef {'waits' | 'shipped' | 'delivered' | 'cancelled' | 'late' | 'moves'} Story
 */
/** @type {readonly Story[]} */
const ORDERS = ['delivered', 'waits', 'delivered', 'shipped', 'waits', 'cancelled', 'waits', 'delivered', 'late', 'shipped', 'waits', 'delivered', 'moves', 'moves', 'moves'];

/** The address of `npm run receive`. Until it runs, deliveries fail, and the console shows why. */
const WEBHOOK = { url: 'http://127.0.0.1:8090/', description: 'Warehouse. Nothing listens there yet.' };

/**
 * Adds demo data to an empty shop.
 * @param {string} gatewayUrl
 * @param {AbortSignal} stop
 * @returns {Promise<string>} a one-line summary
 * @throws {StartError} if the shop refuses a request
 */
export async function addDemoData(gatewayUrl, stop) {
  const send = sender(`${gatewayUrl}/v3`, stop);
  await send('POST', '/plant/import', STAFF, PLANTS);
  const sessions = [];
  for (const customer of CUSTOMERS) {
    await send('POST', '/user', {}, customer);
    const { message } = await send('GET', `/user/login?${new URLSearchParams({ username: customer.username, password: customer.password })}`, {});
    sessions.push({ session_token: message.slice(message.lastIndexOf(':') + 1) });
  }
  await send('POST', '/webhooks', STAFF, WEBHOOK);
  for (const [n, story] of ORDERS.entries()) await tell(send, sessions[n % sessions.length] ?? {}, n, story);
  return `${PLANTS.length} plants, ${ORDERS.length} orders, ${CUSTOMERS.length} customers, a webhook`;
}

/**
 * Places the n-th order and moves it to its final state.
 * @param {Send} send
 * @param {Record<string, string>} customer headers of the customer's session
 * @param {number} n
 * @param {Story} story
 */
async function tell(send, customer, n, story) {
  const shipDate = story === 'moves' ? undefined : new Date((Math.ceil(Date.now() / DAY_MS) + 1 + (n % 4)) * DAY_MS);
  const order = { id: 101 + n, plantId: PLANTS[(n * 5) % (PLANTS.length - 1)]?.id, quantity: 1 + (n % 3), shipDate };
  const path = `/store/order/${order.id}`;
  await send('POST', '/store/order', customer, order);
  if (story === 'moves') return;
  if (story === 'cancelled' || story === 'late') await send('DELETE', path, customer);
  if (story === 'cancelled') return;
  // The shop refuses a late payment and records the refund.
  const isLate = story === 'late';
  await send('POST', `${path}/payment`, STAFF, { outcome: 'succeeded', reference: `demo-payment-${order.id}` }, isLate ? 409 : 200);
  if (story === 'shipped') await send('POST', `${path}/shipment`, STAFF, { carrier: 'Green Post', trackingNumber: `GP${order.id}` });
  if (story === 'delivered') await send('POST', `${path}/delivery`, STAFF);
}

/** @typedef {ReturnType<typeof sender>} Send */

/** @param {string} base @param {AbortSignal} stop */
function sender(base, stop) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {Record<string, string>} credential headers
   * @param {object} [body] a list is sent as NDJSON
   * @param {number} [expected] status of the response, instead of any success
   * @returns {Promise<any>} the response's JSON; undefined for NDJSON
   */
  return async (method, path, credential, body, expected) => {
    const isList = Array.isArray(body);
    const request = async () => {
      const response = await fetch(base + path, {
        method,
        headers: { ...credential, ...(body && { 'content-type': isList ? 'application/x-ndjson' : 'application/json' }) },
        ...(body && { body: isList ? body.map((one) => JSON.stringify(one)).join('\n') : JSON.stringify(body) }),
        signal: AbortSignal.any([stop, AbortSignal.timeout(LIMIT_MS)]),
      });
      return { response, text: await response.text() };
    };
    let { response, text } = await request();
    for (let attempt = 1; response.status === 503 && /"code":"(unavailable|overloaded)"/.test(text) && attempt < ATTEMPTS; attempt++) {
      await sleep(PAUSE_MS, undefined, { signal: stop });
      ({ response, text } = await request());
    }
    const isExpected = expected === undefined ? response.ok : response.status === expected;
    if (!isExpected || (isList && !text.includes('"refused":0,'))) {
      throw new StartError(`The demo data could not be added: ${method} ${path} answered ${response.status}: ${text}`);
    }
    return isList ? undefined : JSON.parse(text);
  };
}
