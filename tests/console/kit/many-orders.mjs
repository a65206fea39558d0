import { readFileSync } from 'node:fs';
import { Client } from 'pg';

/**
 * Adds orders like this one to the store's database, with ids and units as the store counts them: placed one by one they would take a minute.
 * @param {number} orderId of one unit @param {number} count
 */
export async function repeatOrder(orderId, count) {
  const { postgres } = JSON.parse(readFileSync(process.env['RUN_FILE'] ?? '', 'utf8'));
  const client = new Client({ connectionString: postgres.urls.store });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(
      `WITH ids AS (SELECT block + n AS id FROM (SELECT nextval('order_ids') AS block FROM generate_series(1, $2::int / 1000 + 1)) AS blocks, generate_series(0, 999) AS n),
         added AS (
           INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at)
           SELECT ids.id, plant_id, quantity, status, owner_id, 1, now() FROM orders, (SELECT id FROM ids ORDER BY id LIMIT $2) AS ids WHERE orders.id = $1
           RETURNING id, placed_at, owner_id)
       INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id)
       SELECT id, 1, 'placed', placed_at, owner_id::text, 'placed', owner_id FROM added`,
      [orderId, count],
    );
    await client.query('UPDATE stock SET free = free - $2, reserved = reserved + $2 WHERE plant_id = (SELECT plant_id FROM orders WHERE id = $1)', [orderId, count]);
    await client.query('INSERT INTO inventory_deltas (available, pending, sold) VALUES (-$1::bigint, $1, 0)', [count]);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}
