// Copies order events into your own Postgres database, each exactly once, even if this program is killed at any time. It stores an event
// and its cursor in one transaction.
//
//   SHOP_URL=… STREAM_URL=… API_KEY=… DATABASE_URL=postgresql://… node follow-events.mjs
import { createShop } from '@plant-shop/client';
import pg from 'pg';

const database = new pg.Client({ connectionString: process.env.DATABASE_URL });
await database.connect();
await database.query('CREATE TABLE IF NOT EXISTS order_events (cursor text PRIMARY KEY, order_id bigint NOT NULL, new_status text NOT NULL, at timestamptz NOT NULL)');
await database.query('CREATE TABLE IF NOT EXISTS followed (one boolean PRIMARY KEY DEFAULT true CHECK (one), cursor text NOT NULL)');
const { rows } = await database.query('SELECT cursor FROM followed');

const shop = createShop({ url: process.env.SHOP_URL, streamUrl: process.env.STREAM_URL, credential: { apiKey: process.env.API_KEY } });
const store = (cursor) => database.query('INSERT INTO followed (cursor) VALUES ($1) ON CONFLICT (one) DO UPDATE SET cursor = excluded.cursor', [cursor]);
for await (const event of shop.events({ cursor: rows[0]?.cursor ?? 'earliest', onCursor: (cursor) => void store(cursor) })) {
  await database.query('BEGIN');
  if (event.event === 'stream.gap') console.error(`events are missing (${event.data.reason}): compare with the orders themselves`);
  else await database.query('INSERT INTO order_events VALUES ($1, $2, $3, $4)', [event.cursor, event.data.orderId, event.data.newStatus, event.timestamp]);
  await store(event.cursor);
  await database.query('COMMIT');
}
