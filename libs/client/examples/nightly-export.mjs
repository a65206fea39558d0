// Writes the orders placed on a day (UTC, default: yesterday) as NDJSON. The API key needs the permission read:orders.
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
  // Fetches no further page before the last one is written.
  if (!out.write(`${JSON.stringify(order)}\n`)) await once(out, 'drain');
}
out.end();
await once(out, 'close');
// Replaces the file atomically: readers see the new one or the old one, complete.
renameSync(`${file}.part`, file);
console.log(`${count} orders`);
