// The data of a large shop: 1,000,000 plants, 5,000,000 orders of 100,000 customers, most of them delivered and two thirds of them old, 500,000 events.

/** @typedef {{ plants: number, orders: number }} Size */

/** @type {Size} */
export const LARGE = { plants: 1_000_000, orders: 5_000_000 };
const CUSTOMERS = 100_000;

const customer = (/** @type {string} */ n) => `('00000000-0000-4000-8000-' || lpad((${n})::text, 12, '0'))::uuid`;

/** Uses client-chosen ids; assigned ones begin at 1,000,000,001. Every thousandth plant has the same tag. */
const catalog = (/** @type {Size} */ { plants }) => `
  -- Advances the sequence once, at the end.
  SET session_replication_role = replica;
  INSERT INTO plants (id, incarnation, version, name, category, photo_urls, tags, status, bytes, name_words, label_words)
    SELECT n, drawn, drawn, 'Plant ' || n, '{"id": 1, "name": "Foliage"}', '{}',
      jsonb_build_array(jsonb_build_object('id', 1 + n % 1000, 'name', 'tag ' || n % 1000)),
      CASE WHEN n % 10 < 8 THEN 'available' WHEN n % 10 = 8 THEN 'pending' ELSE 'sold' END, 140, ARRAY['plant', n::text],
      CASE WHEN n % 1000 = n THEN ARRAY['tag', 'foliage'] ELSE ARRAY['tag', (n % 1000)::text, 'foliage'] END
    FROM (SELECT n, nextval('plant_versions') AS drawn FROM generate_series(1, ${plants}) AS n) AS t;
  INSERT INTO plant_tags (name, incarnation) SELECT 'tag ' || id % 1000, incarnation FROM plants WHERE id <= ${plants};
  -- What the triggers would write.
  INSERT INTO plant_words (word, incarnation, in_name)
    SELECT word, incarnation, true FROM plants, unnest(ARRAY['plant', id::text]) AS word WHERE id <= ${plants} ORDER BY 1, 2;
  INSERT INTO plant_words (word, incarnation, in_name)
    SELECT word, incarnation, false FROM plants, unnest(ARRAY['tag', (id % 1000)::text, 'foliage']) AS word WHERE id <= ${plants} ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
  INSERT INTO search_words VALUES ('plant'), ('tag'), ('foliage') ON CONFLICT DO NOTHING;
  UPDATE catalogue_stamps SET stamp = gen_random_uuid();`;

// Three of twenty orders are a basket, with one owner and the id of the first.
const basket = `CASE WHEN n % 20 BETWEEN 11 AND 13 THEN n - n % 20 + 11 END`;
const owner = customer(`coalesce(${basket}, n) % ${CUSTOMERS}`);

// Gives each customer orders of every status.
const mixed = `(n + n / ${CUSTOMERS}) % 100`;

/** Two thirds of the orders are old, unless they are open, and all before the last 400 days (ORDERS_ARCHIVE_AFTER_DAYS): one was placed every 20 seconds. */
const isOld = (/** @type {number} */ orders) => `(n < ${orders - Math.min((400 * 86_400) / 20, Math.floor(orders / 3))} AND ${mixed} NOT IN (0, 50))`;
const status = `CASE WHEN ${mixed} = 0 THEN 'placed' WHEN ${mixed} = 50 THEN 'approved' WHEN ${mixed} < 10 THEN 'cancelled' ELSE 'delivered' END`;

/** @param {Size} size @param {'orders' | 'old_orders'} table */
const ordersOf = ({ plants, orders }, table) => `
  INSERT INTO ${table} (id, basket_id, plant_id, quantity, status, owner_id, version, placed_at, tracking_number, due_at, due_transition,
                        carrier, refund, external_id, metadata)
    SELECT n, ${basket}, 1 + n % ${plants}, 1, ${status},
      ${owner}, 1, now() - (${orders} - n) * interval '20 seconds', 'T' || n,
      CASE WHEN ${mixed} = 0 THEN now() + interval '1 hour' + n * interval '1 ms' END, CASE WHEN ${mixed} = 0 THEN 'expire' END,
      CASE WHEN ${mixed} > 75 THEN 'Post' END, CASE WHEN ${mixed} = 5 AND n % 500 < 5 THEN 'completed' END,
      CASE WHEN n % 10 = 0 THEN 'web-' || n END, CASE WHEN n % 10 = 0 THEN '{"channel": "web"}'::jsonb END
    FROM generate_series(1, ${orders}) AS n WHERE ${table === 'orders' ? 'NOT ' : ''}${isOld(orders)};`;

/** @param {Size} size @param {'orders' | 'old_orders'} table */
const stepsOf = ({ orders }, table) => `
  INSERT INTO ${table === 'orders' ? 'order_transitions' : 'old_order_steps'} (order_id, order_version, new_status, at, actor, reason, owner_id, counted, position)
    OVERRIDING SYSTEM VALUE
    SELECT id, 1, 'placed', placed_at, owner_id, 'placed', owner_id, true, nextval(pg_get_serial_sequence('order_transitions', 'position'))
    FROM ONLY ${table} WHERE id <= ${orders};`;

/** Creates the indexes after the rows: with more rows than memory, each would be written to all over the disk. @param {string} table @param {string} fill */
const indexedAfter = (table, fill) => `
  CREATE TEMP TABLE indexes AS SELECT indexname, indexdef FROM pg_indexes WHERE tablename = '${table}' AND indexname NOT LIKE '%_pkey';
  DO $$ DECLARE one record; BEGIN FOR one IN SELECT * FROM indexes LOOP EXECUTE 'DROP INDEX ' || one.indexname; END LOOP; END $$;
  ${fill}
  DO $$ DECLARE one record; BEGIN FOR one IN SELECT * FROM indexes LOOP EXECUTE one.indexdef; END LOOP; END $$;
  DROP TABLE indexes;`;

/**
 * One in fifty orders is open; half of these await a payment that is due in an hour or more. Half of the delivered ones were shipped, one
 * in five hundred cancelled ones was refunded, and one order in ten has an external id and metadata.
 */
const store = (/** @type {Size} */ { plants, orders }) => `
  SET LOCAL maintenance_work_mem = '256MB';
  INSERT INTO customers (user_id) SELECT ${customer('n')} FROM generate_series(0, ${CUSTOMERS - 1}) AS n;
  ${ordersOf({ plants, orders }, 'orders')}
  ${stepsOf({ plants, orders }, 'orders')}
  ${indexedAfter('old_orders', ordersOf({ plants, orders }, 'old_orders'))}
  ${indexedAfter('old_order_steps', stepsOf({ plants, orders }, 'old_orders'))}
  INSERT INTO baskets (id, owner_id, external_id, placed_at)
    SELECT id, owner_id, CASE WHEN id % 100 = 11 THEN 'basket-' || id END, placed_at FROM orders WHERE basket_id = id;
  INSERT INTO order_metadata (pair, owner_id, placed_at, order_id)
    SELECT hashtextextended('channel=web', 0), owner_id, placed_at, id FROM orders WHERE id <= ${orders} AND metadata IS NOT NULL;
  INSERT INTO order_counts (scope, status, shipped, refund, orders)
    SELECT scope, status, carrier IS NOT NULL, coalesce(refund, 'none'), count(*)
    FROM orders CROSS JOIN LATERAL (VALUES ('all'), (plant_id::text), (owner_id::text)) AS counted (scope) WHERE id <= ${orders}
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (scope, status, shipped, refund) DO UPDATE SET orders = order_counts.orders + excluded.orders;
  INSERT INTO stock (plant_id, incarnation, listing, listing_version, free, reserved, sold, supplied)
    SELECT n, n, CASE WHEN n % 10 < 8 THEN 'available' WHEN n % 10 = 8 THEN 'pending' ELSE 'sold' END, n, 1000000, reserved, sold, 1000000 + reserved + sold
    FROM (SELECT plant_id AS n, count(*) FILTER (WHERE status = 'placed') AS reserved,
            count(*) FILTER (WHERE status IN ('approved', 'delivered')) AS sold FROM orders WHERE id <= ${orders} GROUP BY plant_id) AS t;
  UPDATE inventory_total AS total SET
    available = total.available + t.available, pending = total.pending + t.pending, sold = total.sold + t.sold
    FROM (SELECT sum(free) FILTER (WHERE listing = 'available') AS available,
            sum(reserved + CASE WHEN listing = 'pending' THEN free ELSE 0 END) AS pending,
            sum(sold + CASE WHEN listing = 'sold' THEN free ELSE 0 END) AS sold FROM stock WHERE plant_id <= ${plants}) AS t;`;

const identity = `
  INSERT INTO users (user_id, id, username, password_hash)
    SELECT ${customer('n')}, n + 1, 'customer-' || n, 'nobody logs in' FROM generate_series(0, ${CUSTOMERS - 1}) AS n;
  INSERT INTO api_keys (id, user_id, name, prefix, key_hash, permissions)
    SELECT gen_random_uuid(), ${customer('n')}, 'key', 'none', sha256(n::text::bytea), '{write:orders}' FROM generate_series(0, ${CUSTOMERS - 1}) AS n;`;

/** An event of one order in ten, before those that the log has followed. */
const notifications = (/** @type {Size} */ { orders }) => `
  INSERT INTO event_log (seq, event_id, subject, body, repeats, event_type, order_id, new_status)
    SELECT n - ${orders / 10}, gen_random_uuid(), ${customer(`n % ${CUSTOMERS}`)}, '{}', false, 'order.status_changed', n, 'approved'
    FROM generate_series(1, ${orders / 10}) AS n;`;

/**
 * Fills the databases of a running, idle shop.
 * @param {string} adminUrl @param {(url: string, sql: string) => Promise<unknown>} psql @param {Size} size
 */
export async function fillShop(adminUrl, psql, size) {
  const load = async (/** @type {string} */ database, /** @type {string} */ sql) => {
    const url = adminUrl.replace(/\/postgres$/, `/${database}`);
    // No durable commits while loading: the final checkpoint writes everything.
    await psql(url, `BEGIN; SET LOCAL synchronous_commit = off; ${sql} COMMIT`);
    await psql(url, 'VACUUM (ANALYZE)');
  };
  const others = async () => {
    await load('catalog', catalog(size));
    await load('identity', identity);
    await load('notifications', notifications(size));
  };
  await Promise.all([load('store', store(size)), others()]);
  await psql(adminUrl, 'CHECKPOINT');
}

/** SQL that writes orders of one month as they were before they became old, with two steps each. @param {{ from: number, to: number }} ids */
export const monthOfOrders = ({ from, to }) => `
  INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at, updated_at)
    SELECT n, 1 + n % 1000, 1, 'cancelled', ${customer(`n % ${CUSTOMERS}`)}, 2, placed_at, placed_at + interval '15 minutes'
    FROM generate_series(${from}, ${to}) AS n CROSS JOIN LATERAL (SELECT now() - interval '431 days' + (n - ${from}) * interval '30 days' / ${to - from + 1}) AS t (placed_at);
  INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, counted)
    SELECT id, step, CASE step WHEN 1 THEN 'placed' ELSE 'cancelled' END, placed_at, owner_id, 'placed', owner_id, true
    FROM orders CROSS JOIN generate_series(1, 2) AS step WHERE id BETWEEN ${from} AND ${to};`;
