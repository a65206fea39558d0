// Places one order exactly once, even if the network, the shop or this program fails. After a crash, run it again to continue.
//
//   SHOP_URL=http://localhost:8080 API_KEY=special-key node place-an-order.mjs <plantId> <file>
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createShop, ShopError } from '@plant-shop/client';

const [plantId, file] = process.argv.slice(2);
const shop = createShop({ url: process.env.SHOP_URL, credential: { apiKey: process.env.API_KEY } });

// Stores the order and its key on disk before sending. In your own application, use a table.
if (!existsSync(file)) writeFileSync(file, JSON.stringify({ plantId: Number(plantId), key: crypto.randomUUID() }), { flush: true });
const wanted = JSON.parse(readFileSync(file, 'utf8'));

try {
  const { data: order } = await shop.orders.place({ plantId: wanted.plantId }, { idempotencyKey: wanted.key });
  console.log(order.id);
} catch (error) {
  if (!(error instanceof ShopError)) throw error;
  // `refused` is final. Otherwise run it again: for 24 hours the key makes it the same order.
  console.error(`${error.outcome}: ${error.message}`);
  process.exitCode = error.outcome === 'refused' ? 1 : 75;
}
