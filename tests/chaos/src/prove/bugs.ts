import { failover, failoversWithoutLoss } from '../goals/broken-servers.js';
import { type Bug, type Edit, kills } from './bug.js';
import { destinationBugs } from './destination-bugs.js';
import { mailBugs } from './mail-bugs.js';

const repository = 'apps/store/dist/orders/orders.repository.js';
const stockRepository = 'apps/store/dist/stock/stock.repository.js';
const rules = 'apps/store/dist/orders/order.js';
const placing = 'apps/store/dist/orders/placing.js';
const basket = 'apps/store/dist/orders/basket.js';
const history = 'apps/notifications/dist/log/history.js';
const orders = 'apps/store/dist/orders/orders.service.js';
const payments = 'apps/store/dist/payments/payments.service.js';
const idempotentResults = 'libs/platform/dist/patterns/idempotent-results.js';

const withoutStockLock: Edit = {
  file: stockRepository,
  find: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id FOR NO KEY UPDATE',
  replace: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id',
};

export const bugs: readonly Bug[] = [
  {
    id: 'lost-update',
    name: 'lost update: stock is written as it was read, without a lock',
    edits: [
      withoutStockLock,
      {
        file: stockRepository,
        find: 'WHERE id = ANY($1))\n         ORDER BY plant_id FOR NO KEY UPDATE',
        replace: 'WHERE id = ANY($1))\n         ORDER BY plant_id',
      },
      {
        file: repository,
        find: 'moveUnits(tx, units);',
        replace: `for (const row of stock) {
          const moved = units.get(row.plantId) ?? noUnits;
          tx.send('UPDATE stock SET free = $2, reserved = $3, sold = $4 WHERE plant_id = $1',
            [row.plantId, row.free + moved.free, row.reserved + moved.reserved, row.sold + moved.sold]);
        }`,
      },
    ],
    breaks: ['stock'],
  },
  {
    id: 'missing-transition',
    name: 'a status change occasionally writes no transition',
    edits: [{ file: repository, find: 'FROM changed LEFT JOIN numbers ON true ORDER BY id', replace: 'FROM changed LEFT JOIN numbers ON true WHERE id % 5 <> 0 ORDER BY id' }],
    breaks: ['timeline'],
  },
  {
    id: 'early-answer',
    name: 'an order is answered before its commit',
    edits: [{
      file: orders,
      find: 'this.database.transaction((tx) => placeBatch(tx, orders, this.policy, options), { useGenericPlans: true })',
      replace: `new Promise((resolve, reject) => {
        this.database.transaction(async (tx) => {
          const { results } = await placeBatch(tx, orders, this.policy, options);
          resolve({ results, numberedEvents: () => undefined });
          await new Promise((committing) => setTimeout(committing, 500));
        }).catch(reject);
      })`,
    }],
    breaks: ['register', 'acknowledged'],
    faults: kills('store-1'),
  },
  {
    id: 'write-skew',
    name: 'write skew: placing does not lock the customer against account closure',
    edits: [
      { file: 'apps/store/dist/customers/customers.js', find: ' ORDER BY user_id FOR KEY SHARE', replace: ' ORDER BY user_id' },
      // Customers whose unpaid orders are limited are locked for that, too.
      { file: 'apps/store/dist/customers/customers.js', find: ' ORDER BY user_id FOR NO KEY UPDATE', replace: ' ORDER BY user_id' },
      // Widens the race window, so that a short run hits it.
      {
        file: orders,
        find: 'const results = requestGroups(orders).map(',
        replace: 'await new Promise((passing) => setTimeout(passing, 400));\n    const results = requestGroups(orders).map(',
      },
    ],
    breaks: ['owners'],
    // An order waits for the equally slow batch before it: an account that is deleted at once would be gone before its own batch.
    workload: { deletedUsers: 6, deleteWithinMs: 800 },
  },
  {
    id: 'early-snapshot',
    name: 'the feed is numbered from the snapshot taken before the lock, as in a single statement',
    edits: [
      {
        file: 'libs/events/dist/feed.js',
        find: `const [[locked], unnumbered] = await Promise.all([
                tx.query(this.lockHeadToNumber),
                tx.query(this.findUnnumbered),
            ]);`,
        replace: 'const unnumbered = await tx.query(this.findUnnumbered);\n            const [locked] = await tx.query(this.lockHeadToNumber);',
      },
      { file: 'libs/events/dist/feed.js', find: 'if (events.length !== unnumbered.length || last !== head)', replace: 'if (false)' },
    ],
    breaks: ['settled', 'log'],
  },
  {
    id: 'hole',
    name: 'events beyond a gap are logged and delivered',
    edits: [
      { file: 'libs/events/dist/follower.js', find: 'if (!common || common.id !== before.id) {', replace: 'if (false) {' },
      { file: 'libs/events/dist/follower.js', find: 'if (event.seq !== last.seq + 1)', replace: 'if (event.seq <= last.seq)' },
      // Delays or drops some messages, which the unmodified code tolerates.
      {
        file: 'libs/events/dist/feed.js',
        find: 'this.nats.announce(this.subject, message, { ...message, events: [] });\n',
        replace: 'if (Math.random() < 0.7) setTimeout(() => this.nats.announce(this.subject, message, { ...message, events: [] }), Math.random() * 50);\n',
      },
    ],
    breaks: ['log', 'sockets', 'settled'],
  },
  {
    id: 'oversell',
    name: 'oversell: availability is decided without a lock',
    edits: [
      withoutStockLock,
      {
        file: stockRepository,
        find: 'SET free = stock.free + t.free,',
        replace: 'SET free = greatest(stock.free + t.free, 0), supplied = supplied + greatest(-stock.free - t.free, 0),',
      },
      // Widens the race window, so that a short run hits it.
      {
        file: orders,
        find: 'const results = requestGroups(orders).map(',
        replace: 'await new Promise((passing) => setTimeout(passing, 300));\n    const results = requestGroups(orders).map(',
      },
    ],
    breaks: ['stock'],
    // Cancellations make each plant nearly sold out repeatedly, while both stores have orders for it.
    workload: { customers: 12, perSecond: 20, plants: 3, unitsEach: 12 },
  },
  {
    id: 'order-key-ignored',
    name: 'the Idempotency-Key of orders is ignored',
    edits: [{ file: orders, find: '        idempotency,\n        traceparent,', replace: '        idempotency: undefined,\n        traceparent,' }],
    breaks: ['once-per-key'],
  },
  {
    id: 'other-bytes',
    name: 'a webhook is resent with different bytes',
    edits: [{
      file: 'apps/notifications/dist/webhooks/sending/delivery-worker.js',
      find: 'const { claimed, address, secrets } = job;\n        const span',
      replace: 'const { claimed: { ...claimed }, address, secrets } = job;\n        claimed.body = claimed.body.replace(/"timestamp":"[^"]*"/, `"timestamp":"${new Date().toISOString()}"`);\n        const span',
    }],
    breaks: ['receivers'],
  },
  {
    id: 'stale-catalogue',
    name: 'cached catalogue data is served without validation',
    edits: [{
      file: 'apps/gateway/dist/reads/cached-reads.js',
      find: 'if (cached?.stamp !== undefined && (await this.versions.current()).has(cached.stamp)) {',
      replace: 'if (cached?.stamp !== undefined) {',
    }],
    breaks: ['own-writes'],
  },
  {
    id: 'units-kept',
    name: 'a cancellation does not return the units',
    edits: [{ file: rules, find: 'actor, reason, units: unitsReleasedBy(order)', replace: 'actor, reason, units: noUnits' }],
    breaks: ['stock'],
  },
  {
    id: 'event-outside',
    name: 'the event is appended after the transaction',
    edits: [
      { file: orders, find: 'this.ids = new OrderIds(database);', replace: 'this.ids = new OrderIds(database);\n        globalThis.ownDatabase = database;' },
      { file: repository, find: 'FROM changed LEFT JOIN numbers ON true ORDER BY id', replace: 'FROM changed LEFT JOIN numbers ON true WHERE false' },
      {
        file: repository,
        find: 'const numbers = tx.later(writeChanges, [',
        replace: `mayNumber = false;
    setTimeout(() => {
        for (const { order, previousStatus, actor, reason, eventId, body } of changes) {
          void globalThis.ownDatabase.query(
            \`INSERT INTO order_transitions (order_id, order_version, previous_status, new_status, at, actor, reason, owner_id, event_id, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)\`,
            [order.id, order.version, previousStatus, order.status, at, actor, reason, order.ownerId, eventId, body],
          ).catch(() => undefined);
        }
    }, 2_000);
    const numbers = tx.later(writeChanges, [`,
      },
    ],
    breaks: ['timeline'],
    faults: kills('store-1', 'store-2'),
  },
  {
    id: 'placed-event-outside',
    name: 'the event of a new order is appended after the transaction',
    edits: [
      { file: orders, find: 'this.ids = new OrderIds(database);', replace: 'this.ids = new OrderIds(database);\n        globalThis.ownDatabase = database;' },
      { file: repository, find: 'SELECT ${placedSteps.names}, $3', replace: 'SELECT order_id, plant_id, owner_id, client_id, NULL::uuid, NULL::text, traceparent, $3' },
      { file: repository, find: "${assignNumbers('$1::bigint', { also: keepPlacedAt })}", replace: 'SELECT epoch, head FROM feed_head WHERE false' },
      {
        file: repository,
        find: 'const numbers = tx.later(writePlaced, [',
        replace: `setTimeout(() => {
        for (const { order, eventId, body } of placed) {
          void globalThis.ownDatabase.query(
            'UPDATE order_transitions SET event_id = $2, body = $3 WHERE order_id = $1 AND order_version = 1',
            [order.id, eventId, body],
          ).catch(() => undefined);
        }
    }, 2_000);
    const numbers = tx.later(writePlaced, [`,
      },
    ],
    breaks: ['timeline'],
    faults: kills('store-1', 'store-2'),
  },
  {
    id: 'types-ignored',
    name: 'a stream client gets event types that it did not request',
    edits: [
      { file: 'apps/notifications/dist/stream/broadcast/live-connections.js', find: '!fields || types.has(fields.type)', replace: 'true' },
      { file: 'apps/notifications/dist/stream/broadcast/live-connections.js', find: 'if (all.some((types) => areAmong(asked, types)))', replace: 'if (true)' },
    ],
    breaks: ['sockets'],
  },
  {
    id: 'early-expiry',
    name: 'orders expire long before their time',
    edits: [{ file: rules, find: ": { transition: 'expire', inMs: policy.orderTtlMs }", replace: ": { transition: 'expire', inMs: 3_000 }" }],
    breaks: ['expiry'],
  },
  {
    id: 'self-approval',
    name: 'orders are approved without payment',
    edits: [{ file: rules, find: ": { transition: 'expire', inMs: policy.orderTtlMs }", replace: ": { transition: 'approve', inMs: 1_500 }" }],
    breaks: ['unasked'],
  },
  {
    id: 'self-delivery',
    name: 'paid orders are delivered without a request',
    edits: [
      { file: rules, find: 'due: dueAfterApproval(order, at, policy),', replace: "due: { transition: 'deliver', inMs: 500 }," },
    ],
    breaks: ['unasked'],
  },
  {
    id: 'self-cancellation',
    name: 'a failed payment cancels the order',
    edits: [
      { file: payments, find: 'import { approve, canTransition,', replace: 'import { approve, cancel, canTransition,' },
      {
        file: payments,
        find: "if (state === 'refund-due')\n",
        replace: `if (state === 'failed' && order.status === 'placed') {
                const change = { ...cancel(order, { actor: reportedBy, at }), reason: 'payment failed' };
                orders.set(order.id, change.order);
                approved.push({ ...change, traceparent });
                continue;
            }
            if (state === 'refund-due')\n`,
      },
    ],
    breaks: ['unasked'],
  },
  {
    id: 'transfer-elsewhere',
    name: 'a transfer leaves the order with its owner',
    edits: [{ file: rules, find: '{ ...afterStep(order, at), ownerId: to.ownerId }', replace: 'afterStep(order, at)' }],
    breaks: ['unasked'],
  },
  {
    id: 'payment-lost',
    name: 'a payment is occasionally not recorded',
    edits: [{ file: payments, find: 'payments.record(reference, orderIds, state);', replace: 'if (orderIds[0] % 3 !== 0) payments.record(reference, orderIds, state);' }],
    breaks: ['payments'],
  },
  {
    id: 'refund-forgotten',
    name: 'a late payment is refused without a refund due',
    edits: [
      { file: payments, find: 'payments.record(reference, orderIds, state);', replace: "if (state !== 'refund-due') payments.record(reference, orderIds, state);" },
      { file: payments, find: "if (state === 'refund-due')\n", replace: "if (state === 'refund-due') continue;\n            else if (false)\n" },
    ],
    breaks: ['payments'],
  },
  {
    id: 'refund-unlisted',
    name: 'some due refunds are not listed',
    edits: [{ file: 'apps/store/dist/refunds/refunds.js', find: 'refund_id < $2 ORDER BY', replace: 'refund_id < $2 AND refund_id % 2 = 0 ORDER BY' }],
    breaks: ['payments'],
  },
  {
    id: 'plant-not-found',
    name: 'an existing plant is occasionally not found',
    edits: [{ file: 'apps/catalog/dist/plants/plants.service.js', find: 'requirePlant(plantId, plant), plant?.stamp)', replace: 'requirePlant(plantId, Math.random() < 0.5 ? undefined : plant), plant?.stamp)' }],
    breaks: ['refusals'],
  },
  {
    id: 'units-withheld',
    name: 'the last units are not sold',
    edits: [{ file: placing, find: 'if (quantity > stock.free)', replace: 'if (quantity > stock.free - 8)' }],
    breaks: ['refusals'],
    workload: { unitsEach: 30 },
  },
  {
    id: 'slots-leak',
    name: 'a gateway never releases admission slots, and finally answers 503 to everything',
    edits: [
      { file: 'apps/gateway/dist/limits/concurrency-limiter.js', find: 'this.all[phase]--;', replace: '' },
      // Lets a short run use up the slots.
      { file: 'apps/gateway/dist/limits/concurrency-limiter.js', find: 'if (this.all[phase] >= this.max.requests) {', replace: 'if (this.all[phase] >= 150) {' },
    ],
    breaks: ['work'],
  },
  {
    id: 'never-back',
    name: 'after a Postgres outage payments fail until the process is restarted',
    edits: [{
      file: 'apps/store/dist/payments/payments.service.js',
      find: 'async applyBatch(batch) {',
      replace: `async applyBatch(batch) {
        if (this.wasAway) throw this.wasAway;
        try { await this.database.query('SELECT 1'); } catch (error) { this.wasAway = error; throw error; }`,
    }],
    breaks: ['work'],
    faults: [{ kind: 'away', atMs: 3_000, targets: ['postgres'], forMs: 1_500 }],
  },
  {
    id: 'revocation-ignored',
    name: 'a cached credential outlives its revocation',
    edits: [{
      file: 'libs/credentials/dist/credential-checker.js',
      find: 'revoked: (entries) => this.evict(new Set(entries.map(({ kind, id }) => revocationKey(kind, id)))),',
      replace: 'revoked: () => undefined,',
    }],
    breaks: ['revoked'],
    workload: { credentialHolders: 3 },
  },
  {
    id: 'silence-trusted',
    name: 'a replica that receives no revocations keeps trusting its cache',
    edits: [{ file: 'libs/credentials/dist/revocation-log.js', find: 'return this.ageMs <= freshForMs;', replace: 'return this.freshAt > 0;' }],
    breaks: ['revoked'],
    // Shows only if a credential is used before a cut and revoked during it, and few holders are between the two when a cut begins.
    workload: { customers: 2, credentialHolders: 16, seconds: 24 },
    faults: [5_000, 11_000, 17_000].map((atMs) => ({ kind: 'cut', atMs, targets: ['notifications-1', 'notifications-2'], from: 'nats', forMs: 3_500 })),
  },
  {
    id: 'socket-goes-on',
    name: 'a socket outlives its credential',
    edits: [{ file: 'apps/notifications/dist/stream/subscribers/credential-watch.js', find: 'for (const connection of this.connectionsWith(revocationKey(kind, id)))\n                    this.handler?.close(connection, 4001);', replace: '' }],
    breaks: ['revoked'],
    // One holder of four revokes a key that has a socket.
    workload: { customers: 2, credentialHolders: 16, seconds: 16 },
  },
  {
    id: 'keys-ignored',
    name: 'the Idempotency-Key of shipments, transfers, plants, keys and endpoints is ignored',
    edits: [{ file: idempotentResults, find: 'export async function runOnce(tx, key, work) {\n    if (!key)\n        return work();', replace: 'export async function runOnce(tx, key, work) {\n    if (key !== 0)\n        return work();' }],
    breaks: ['once-per-key'],
  },
  {
    id: 'webhook-key-ignored',
    name: 'the Idempotency-Key of a new webhook is ignored',
    edits: [
      { file: 'apps/notifications/dist/webhooks/endpoints/webhooks.service.js', find: 'const answer = await this.database.transaction((tx) => runOnce(tx, idempotency, async () => {\n            assertRoomForOneMore', replace: 'const answer = await this.database.transaction((tx) => runOnce(tx, undefined, async () => {\n            assertRoomForOneMore' },
    ],
    breaks: ['once-per-key'],
    workload: { credentialHolders: 3 },
  },
  {
    id: 'unaudited',
    name: 'a delivery is not written to the audit log',
    edits: [{ file: 'apps/store/dist/shipments/shipments.js', find: 'audit(tx, actorOf(context), store.deliverOrder, orderId);', replace: '' }],
    breaks: ['audit'],
  },
  {
    id: 'audit-loses',
    name: 'an audit log entry is occasionally lost',
    edits: [{ file: 'libs/platform/dist/patterns/audit-log.js', find: 'tx.send(append, appended.values(changes))', replace: 'tx.send(append, appended.values(changes.filter(() => Math.random() >= 0.1)))' }],
    breaks: ['audit'],
  },
  {
    id: 'half-basket',
    name: 'a basket is placed without the lines that lack units',
    edits: [
      { file: basket, find: 'if (lacking.length > 0) {', replace: 'if (lacking.length === lines.length) {' },
      { file: basket, find: 'return [placed(first), ...others.map(placed)];', replace: 'return lines.filter(({ plantId }) => lacking.every((line) => line.plantId !== plantId)).map(placed);' },
    ],
    breaks: ['baskets'],
    // Cancellations make some plants nearly sold out repeatedly.
    workload: { customers: 12, perSecond: 20, plants: 4, unitsEach: 12 },
  },
  {
    id: 'line-twice',
    name: 'the units of a basket are reserved twice',
    edits: [{
      file: placing,
      find: 'units: { free: -quantity, reserved: quantity, sold: 0 }',
      replace: 'units: basketId === null ? { free: -quantity, reserved: quantity, sold: 0 } : { free: -2 * quantity, reserved: 2 * quantity, sold: 0 }',
    }],
    breaks: ['stock'],
  },
  {
    id: 'locks-by-line',
    name: 'the stock of a basket is locked in the order of its lines',
    edits: [{
      file: stockRepository,
      find: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id FOR NO KEY UPDATE',
      replace: 'FROM unnest($1::bigint[]) WITH ORDINALITY AS line (plant, n) JOIN stock ON plant_id = plant ORDER BY n FOR NO KEY UPDATE OF stock',
    }],
    breaks: ['deadlocks'],
    workload: { customers: 12, perSecond: 20, unitsEach: 10_000 },
  },
  {
    id: 'library-forgets-key',
    name: 'the client library repeats a call without its Idempotency-Key',
    edits: [{ file: 'libs/client/dist/transport.js', find: 'const headers = new Headers(call.headers);', replace: "const headers = new Headers(call.headers);\n        headers.delete('idempotency-key');" }],
    breaks: ['once-per-key'],
    isInLibrary: true,
  },
  {
    id: 'library-keeps-early',
    name: 'the client library moves its cursor before the consumer has taken the event',
    edits: [{ file: 'libs/client/dist/events.js', find: 'this.given = message.cursor;', replace: 'this.given = this.cursor = message.cursor;' }],
    breaks: ['sockets'],
    // Few kills hit a consumer before it has taken its event.
    workload: { seconds: 20 },
    isInLibrary: true,
  },
  {
    id: 'loss-not-told',
    name: 'a client that has events which a failover lost is told nothing',
    edits: [{ file: history, find: 'return gap !== undefined && epoch', replace: 'return false && gap !== undefined && epoch' }],
    breaks: ['sockets'],
    goal: async (context) => {
      await context.testbed.stack.addStandby();
      return failover(context);
    },
  },
  {
    id: 'failover-told',
    name: 'a failover that lost nothing is a gap',
    edits: [{ file: history, find: 'everyFailover || !gap?.nothingLost', replace: 'true' }],
    breaks: ['sockets'],
    goal: failoversWithoutLoss,
  },
  ...mailBugs,
  ...destinationBugs,
];
