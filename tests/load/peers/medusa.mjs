import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusal, send } from './http.mjs';
import { Site } from './site.mjs';

const VERSION = '2.21.2';
const cli = 'node_modules/@medusajs/cli/cli.js';
const shipping_address = { first_name: 'Ada', last_name: 'L', address_1: '1 Fern Street', city: 'Berlin', postal_code: '10115', country_code: 'de' };

/** @param {string} folder @param {import('./shops.mjs').Seed & import('./site.mjs').Need} options @returns {Promise<import('./shops.mjs').Shop>} */
export async function medusa(folder, options) {
  const { plants, scarce, units } = options;
  const packages = { '@medusajs/medusa': VERSION, '@medusajs/framework': VERSION, '@medusajs/cli': VERSION };
  const site = await Site.open(folder, { name: `medusa-${VERSION}`, packages, ...options });
  // It reads them from the folder that it runs in.
  for (const file of ['medusa-config.js', 'seed.js']) copyFileSync(fileURLToPath(new URL(`medusa/${file}`, import.meta.url)), join(site.home, file));
  const redisUrl = `redis://127.0.0.1:${site.ports.redis}`;
  const env = { DATABASE_URL: site.databaseUrl, REDIS_URL: redisUrl, MEDUSA_DISABLE_TELEMETRY: 'true', LOG_LEVEL: 'warn', SEED: JSON.stringify({ plants, scarce, units }) };
  await site.run([cli, 'db:migrate', '--execute-all-links'], env);
  await site.run([cli, 'exec', './seed.js'], env);

  const [region_id, option_id, key] = await Promise.all(
    ['SELECT id FROM region', 'SELECT id FROM shipping_option', `SELECT token FROM api_key WHERE title = 'Web'`].map((sql) => site.ask(sql)),
  );
  const headers = { 'x-publishable-api-key': key ?? '' };
  const processes = (/** @type {string} */ mode, /** @type {number} */ port) => ({ args: [cli, 'start', '--host', '127.0.0.1', '--port', `${port}`], env: { ...env, MEDUSA_WORKER_MODE: mode } });

  const post = (/** @type {string} */ path, /** @type {object} */ body) => send('POST', `${site.url}/store${path}`, headers, body);
  return {
    title: `Medusa ${VERSION}`,
    ...(await site.shop({ server: processes('server', site.ports.http), worker: processes('worker', site.ports.second) }, plants)),
    held: async (plant) =>
      Number(
        await site.ask(`SELECT coalesce(sum(i.quantity), 0) FROM order_item i JOIN order_line_item l ON l.id = i.item_id JOIN "order" o ON o.id = i.order_id
          WHERE l.variant_id = '${plant}' AND o.canceled_at IS NULL AND o.deleted_at IS NULL AND i.deleted_at IS NULL`),
      ),
    customer: async (n) => async (plant) => {
      const cart = await post('/carts?fields=id', { region_id, email: `customer-${n}@example.com`, shipping_address, items: [{ variant_id: plant, quantity: 1 }] });
      if (isSoldOut(cart)) return false;
      if (cart.status !== 200) throw refusal('cart', cart);
      const { id } = cart.body.cart;
      const shipped = await post(`/carts/${id}/shipping-methods?fields=id`, { option_id });
      if (shipped.status !== 200) throw refusal('shipping', shipped);
      const collection = await post('/payment-collections?fields=id', { cart_id: id });
      if (collection.status !== 200) throw refusal('payment', collection);
      const session = await post(`/payment-collections/${collection.body.payment_collection.id}/payment-sessions?fields=id`, { provider_id: 'pp_system_default' });
      if (session.status !== 200) throw refusal('session', session);
      const completed = await post(`/carts/${id}/complete?fields=id`, {});
      if (isSoldOut(completed)) return false;
      if (completed.status !== 200 || completed.body.type !== 'order') throw refusal('complete', completed);
      return true;
    },
  };
}

/** @param {{ status: number, body: any }} answer */
const isSoldOut = ({ status, body }) => status >= 400 && status < 500 && /inventory|stock/.test(`${body.code} ${body.message}`);
