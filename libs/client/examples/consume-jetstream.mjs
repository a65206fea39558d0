// Keeps the status of every order in your own Postgres database, from a destination of the shop: a stream of NATS JetStream. Start it
// several times: the programs share the work of one durable consumer, and an event of one that is killed goes to another.
//
//   NATS_URL=nats://… DATABASE_URL=postgresql://… node consume-jetstream.mjs
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';

const stream = process.env.STREAM ?? 'EVENTS';
const database = new pg.Client({ connectionString: process.env.DATABASE_URL });
await database.connect();
await database.query('SELECT pg_advisory_lock(47)');
await database.query('CREATE TABLE IF NOT EXISTS order_status (order_id bigint PRIMARY KEY, status text NOT NULL, sequence bigint NOT NULL)');
await database.query('SELECT pg_advisory_unlock(47)');

const connection = await connect({ servers: process.env.NATS_URL, maxReconnectAttempts: -1 });
const { streams, consumers } = await jetstreamManager(connection);
await streams.info(stream).catch(() => streams.add({ name: stream, subjects: ['shop.events.>'] }));
await consumers.add(stream, { durable_name: 'order-status', ack_policy: AckPolicy.Explicit, max_ack_pending: 1_000 });

const consumer = await jetstream(connection).consumers.get(stream, 'order-status');
for await (const message of await consumer.consume({ max_messages: 100 })) {
  const { event, data } = message.json();
  if (event === 'stream.gap') console.error(`events are missing (${data.reason}): compare with the orders themselves`);
  // Programs that share the work handle an order's events at the same time, and some events twice: the newest one counts.
  else if (event === 'order.status_changed') {
    await database.query(
      `INSERT INTO order_status AS known VALUES ($1, $2, $3)
       ON CONFLICT (order_id) DO UPDATE SET status = excluded.status, sequence = excluded.sequence WHERE known.sequence < excluded.sequence`,
      [data.orderId, data.newStatus, message.headers.get('Shop-Sequence')],
    );
  }
  console.log(message.headers.get('Nats-Msg-Id'));
  message.ack();
}
