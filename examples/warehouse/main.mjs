// A warehouse: follows the shop's orders and ships each paid one exactly once, even if it is killed at any moment. Needs Node ≥ 22.13,
// for `node:sqlite`.
//
//   npm start -- --sandbox    # a shop
//   npm run warehouse         # in another terminal
//
// Variables: SHOP_URL, STREAM_URL, API_KEY (with `read:orders` and `write:shipments`), WAREHOUSE_DIR (default: .data/warehouse).
import { createShop, ShopError } from '@plant-shop/client';
import { Book } from './book.mjs';
import { follow } from './follow.mjs';
import { shipAll } from './ship.mjs';

const { SHOP_URL = 'http://localhost:8080', STREAM_URL = 'ws://127.0.0.1:8081', API_KEY = 'special-key', WAREHOUSE_DIR = '.data/warehouse' } = process.env;

const shop = createShop({ url: SHOP_URL, streamUrl: STREAM_URL, credential: { apiKey: API_KEY } });
const book = new Book(WAREHOUSE_DIR);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

try {
  await Promise.all([follow(shop, book, stop.signal), shipAll(shop, book, stop.signal)]);
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof ShopError ? error.message : error);
    process.exitCode = 1;
  }
} finally {
  // Ends the loop that did not fail.
  stop.abort();
}
