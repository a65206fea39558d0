// Writes the orders that were placed on a day (UTC; by default yesterday) as NDJSON. The key needs the permission read:orders.
//
//   SHOP_URL=… API_KEY=… node nightly-export.mjs orders.ndjson [2026-11-22]
import { createWriteStream, renameSync } from 'node:fs';
import { once } from 'node:events';
import { createShop } from '@plant-shop/client';

const DAY_MS = 86_400_000;
const [file, day = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)] = process.argv.slice(2);
const placedFrom = new Date(`${day}T00:00:00Z`);
const placedBefore = new Date(placedFrom.getTime() + DAY_MS);

const shop = createShop({ url: process.env.SHOP_URL, credential: { apiKey: process.env.API_KEY } });
const out = createWriteStream(`${file}.part`);
let count = 0;
for await (const order of shop.list('/store/order', { owner: '*', placedFrom: placedFrom.toISOString(), placedBefore: placedBefore.toISOString() })) {
  count += 1;
  // No page is asked for before the disk has taken the last one.
  if (!out.write(`${JSON.stringify(order)}\n`)) await once(out, 'drain');
}
out.end();
await once(out, 'close');
// Whoever reads the file sees all of it, or that of the night before.
renameSync(`${file}.part`, file);
console.log(`${count} orders`);
