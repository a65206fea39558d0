import type { Rule } from '../checks/violation.js';
import type { Fault } from '../plan.js';
import type { TradeOptions } from '../trade.js';

/** One change of a built file. The text must be there exactly once. */
export interface Edit {
  /** From the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A mistake that somebody could make, made on purpose in a copy of the build. */
export interface Bug {
  /** What `--prove <id>` calls it. */
  readonly id: string;
  readonly name: string;
  readonly edits: readonly Edit[];
  /** At least one of these rules must say so. */
  readonly breaks: readonly Rule[];
  /** What must happen for it to show. */
  readonly faults?: readonly Fault[];
  readonly trade?: Partial<TradeOptions>;
  /** It is one of the client library: programs that use it take the place of trade. */
  readonly isOfLibrary?: boolean;
}

const repository = 'apps/store/dist/orders/orders.repository.js';
const stockRepository = 'apps/store/dist/stock/stock.repository.js';
const rules = 'apps/store/dist/orders/order.js';
const orders = 'apps/store/dist/orders/orders.service.js';
const payments = 'apps/store/dist/payments/payments.service.js';
const savedAnswers = 'libs/platform/dist/idempotency/saved-answers.js';

const withoutStockLock: Edit = {
  file: stockRepository,
  find: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id FOR NO KEY UPDATE',
  replace: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id',
};

const kills = (...targets: string[]): Fault[] => [3_000, 6_000].map((atMs) => ({ kind: 'kill', atMs, targets }));

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
        find: 'moveUnits(tx, unitsByPlant);',
        replace: `for (const row of stock) {
          const units = unitsByPlant.get(row.plantId) ?? noUnits;
          tx.send('UPDATE stock SET free = $2, reserved = $3, sold = $4 WHERE plant_id = $1',
            [row.plantId, row.free + units.free, row.reserved + units.reserved, row.sold + units.sold]);
        }`,
      },
    ],
    breaks: ['stock'],
  },
  {
    id: 'missing-transition',
    name: 'a move now and then writes no transition',
    edits: [{ file: repository, find: 'FROM moved ORDER BY id', replace: 'FROM moved WHERE id % 5 <> 0 ORDER BY id' }],
    breaks: ['timeline'],
  },
  {
    id: 'early-answer',
    name: 'an order is answered before its commit',
    edits: [{
      file: orders,
      find: 'return await this.database.transaction((tx) => placeBatch(tx, entries, dueAfterPlacing(this.policy), options));',
      replace: `return await new Promise((resolve, reject) => {
        this.database.transaction(async (tx) => {
          const { results } = await placeBatch(tx, entries, dueAfterPlacing(this.policy), options);
          resolve({ results, numbered: () => undefined });
          await new Promise((committing) => setTimeout(committing, 500));
        }).catch(reject);
      });`,
    }],
    breaks: ['register', 'acknowledged'],
    faults: kills('store-1'),
  },
  {
    id: 'write-skew',
    name: 'write skew: an order does not share its customer with whoever closes the account',
    edits: [
      { file: 'apps/store/dist/customers/customers.repository.js', find: ' ORDER BY user_id FOR KEY SHARE', replace: ' ORDER BY user_id' },
      // The gap is wider than it would be, so that a short run meets it.
      {
        file: orders,
        find: 'const results = entries.map(',
        replace: 'await new Promise((passing) => setTimeout(passing, 400));\n    const results = entries.map(',
      },
    ],
    breaks: ['owners'],
    // An order waits for the batch before it, which is as slow: who leaves at once is gone before its own begins.
    trade: { leavers: 6, leaveWithinMs: 800 },
  },
  {
    id: 'early-snapshot',
    name: 'the feed is numbered from the snapshot of before the lock, as in one statement',
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
    name: 'events beyond a hole are logged and handed on',
    edits: [
      { file: 'libs/events/dist/event-range.js', find: 'if (!same || same.id !== at.id) {', replace: 'if (false) {' },
      { file: 'libs/events/dist/event-range.js', find: 'if (event.seq !== last.seq + 1)', replace: 'if (event.seq <= last.seq)' },
      // Some nudges take longer than the next ones, or do not arrive: the code as it is does not mind.
      {
        file: 'libs/events/dist/feed-numberer.js',
        find: 'this.nats.connection.publish(this.subject, bytes);\n',
        replace: 'if (Math.random() < 0.7) setTimeout(() => this.nats.connection.publish(this.subject, bytes), Math.random() * 50);\n',
      },
    ],
    breaks: ['log', 'sockets', 'settled'],
  },
  {
    id: 'oversell',
    name: 'oversell: what is left is decided without a lock',
    edits: [
      withoutStockLock,
      {
        file: repository,
        find: 'UPDATE stock SET free = free - units,',
        replace: 'UPDATE stock SET free = greatest(free - units, 0), supplied = supplied + greatest(units - free, 0),',
      },
      // The gap is wider than it would be, so that a short run meets it.
      {
        file: orders,
        find: 'const results = entries.map(',
        replace: 'await new Promise((passing) => setTimeout(passing, 300));\n    const results = entries.map(',
      },
    ],
    breaks: ['stock'],
    // Each plant is nearly sold out again and again, as orders are cancelled, and both stores have orders for it then.
    trade: { customers: 12, perSecond: 20, plants: 3, unitsEach: 12 },
  },
  {
    id: 'order-key-ignored',
    name: 'the Idempotency-Key of orders is ignored',
    edits: [{ file: orders, find: '            idempotency,\n            traceparent,', replace: '            idempotency: undefined,\n            traceparent,' }],
    breaks: ['once-per-key'],
  },
  {
    id: 'other-bytes',
    name: 'a webhook is sent again with other bytes',
    edits: [{
      file: 'apps/notifications/dist/webhooks/sending/delivery-worker.js',
      find: 'async attempt({ claimed, url, secrets }) {',
      replace: 'async attempt({ claimed: { ...claimed }, url, secrets }) {\n        claimed.body = claimed.body.replace(/"timestamp":"[^"]*"/, `"timestamp":"${new Date().toISOString()}"`);',
    }],
    breaks: ['receivers'],
  },
  {
    id: 'stale-catalogue',
    name: 'what is kept of the catalogue is shown without a check',
    edits: [{
      file: 'apps/gateway/dist/reads/cached-reads.js',
      find: 'if (cached?.stamp !== undefined && (await this.versions.current()).has(cached.stamp)) {',
      replace: 'if (cached?.stamp !== undefined) {',
    }],
    breaks: ['own-writes'],
  },
  {
    id: 'units-kept',
    name: 'a cancellation forgets to give the units back',
    edits: [{ file: rules, find: "reason: 'cancelled', units: unitsReleasedBy(order)", replace: "reason: 'cancelled', units: noUnits" }],
    breaks: ['stock'],
  },
  {
    id: 'event-outside',
    name: 'the event is appended outside the transaction, after it',
    edits: [
      { file: orders, find: 'this.ids = new OrderIds(database);', replace: 'this.ids = new OrderIds(database);\n        globalThis.ownDatabase = database;' },
      { file: repository, find: 'FROM moved ORDER BY id', replace: 'FROM moved WHERE false' },
      {
        file: repository,
        find: 'tx.send(writeMoved, [',
        replace: `setTimeout(() => {
        for (const { order, previousStatus, actor, reason, eventId, body } of changes) {
          void globalThis.ownDatabase.query(
            \`INSERT INTO order_transitions (order_id, order_version, previous_status, new_status, at, actor, reason, owner_id, event_id, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)\`,
            [order.id, order.version, previousStatus, order.status, at, actor, reason, order.ownerId, eventId, body],
          ).catch(() => undefined);
        }
    }, 2_000);
    tx.send(writeMoved, [`,
      },
    ],
    breaks: ['timeline'],
    faults: kills('store-1', 'store-2'),
  },
  {
    id: 'placed-event-outside',
    name: 'the event of a new order is appended outside the transaction, after it',
    edits: [
      { file: orders, find: 'this.ids = new OrderIds(database);', replace: 'this.ids = new OrderIds(database);\n        globalThis.ownDatabase = database;' },
      { file: repository, find: "'placed', owner_id, event_id, body, traceparent, numbers", replace: "'placed', owner_id, NULL::uuid, NULL::text, traceparent, numbers" },
      { file: repository, find: "${assignNumbers('cardinality($1)')}", replace: 'SELECT epoch, head FROM feed_head WHERE false' },
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
    name: 'a client of the stream gets event types that it does not ask for',
    edits: [
      { file: 'apps/notifications/dist/stream/entry-batch.js', find: '!fields || types.has(fields.type)', replace: 'true' },
      { file: 'apps/notifications/dist/stream/live-connections.js', find: 'if (all.some((types) => areAmong(asked, types)))', replace: 'if (true)' },
    ],
    breaks: ['sockets'],
  },
  {
    id: 'early-expiry',
    name: 'orders expire long before their time',
    edits: [{ file: rules, find: ": { move: 'expire', inMs: policy.orderTtlMs }", replace: ": { move: 'expire', inMs: 3_000 }" }],
    breaks: ['expiry'],
  },
  {
    id: 'self-approval',
    name: 'orders are approved without a payment',
    edits: [{ file: rules, find: ": { move: 'expire', inMs: policy.orderTtlMs }", replace: ": { move: 'approve', inMs: 1_500 }" }],
    breaks: ['unasked'],
  },
  {
    id: 'self-delivery',
    name: 'what is paid is delivered by itself',
    edits: [
      {
        file: rules,
        find: "policy.provider === 'simulated' ? { move: 'deliver', inMs: policy.deliveryDelayMs } : undefined",
        replace: "({ move: 'deliver', inMs: 500 })",
      },
    ],
    breaks: ['unasked'],
  },
  {
    id: 'self-cancellation',
    name: 'a failed payment cancels the order',
    edits: [
      { file: payments, find: 'import { approve, canMove,', replace: 'import { approve, cancel, canMove,' },
      {
        file: payments,
        find: "if (kind === 'known' || state === 'failed')",
        replace: `if (state === 'failed' && order.status === 'placed') {
        const change = { ...cancel(order, { actor: reportedBy, at }), reason: 'payment failed' };
        orders.set(orderId, change.order);
        approved.push({ ...change, traceparent });
        return versioned(change.order);
    }
    if (kind === 'known' || state === 'failed')`,
      },
    ],
    breaks: ['unasked'],
  },
  {
    id: 'transfer-elsewhere',
    name: 'a transfer leaves the order with its owner',
    edits: [{ file: rules, find: '{ ...order, ownerId: to.ownerId, version: order.version + 1 }', replace: '{ ...order, version: order.version + 1 }' }],
    breaks: ['unasked'],
  },
  {
    id: 'payment-lost',
    name: 'a payment now and then is not written down',
    edits: [{ file: payments, find: 'payments.note(report, state);', replace: 'if (orderId % 3 !== 0) payments.note(report, state);' }],
    breaks: ['payments'],
  },
  {
    id: 'refund-forgotten',
    name: 'a payment that comes too late is refused, and no refund is due',
    edits: [
      { file: payments, find: 'payments.note(report, state);', replace: "if (state !== 'refund-due') payments.note(report, state);" },
      { file: payments, find: "if (kind === 'new' && state === 'refund-due')", replace: 'if (false)' },
    ],
    breaks: ['payments'],
  },
  {
    id: 'refund-unlisted',
    name: 'a refund that is due is not listed',
    edits: [{ file: 'apps/store/dist/refunds/refunds.repository.js', find: 'refund_id < $2 ORDER BY', replace: 'refund_id < $2 AND refund_id % 2 = 0 ORDER BY' }],
    breaks: ['payments'],
  },
  {
    id: 'plant-not-found',
    name: 'a plant that is there is now and then not found',
    edits: [{ file: 'apps/catalog/dist/plants/plants.service.js', find: 'existing(plantId, plant), plant?.stamp)', replace: 'existing(plantId, Math.random() < 0.1 ? undefined : plant), plant?.stamp)' }],
    breaks: ['refusals'],
  },
  {
    id: 'units-withheld',
    name: 'the last units are not sold',
    edits: [{ file: rules, find: 'if (quantity > stock.free) {', replace: 'if (quantity > stock.free - 8) {' }],
    breaks: ['refusals'],
    trade: { unitsEach: 30 },
  },
  {
    id: 'slots-leak',
    name: 'a gateway never gives back what it lets in, and in the end answers everything by 503',
    edits: [
      { file: 'apps/gateway/dist/limits/concurrency-limiter.js', find: 'this.requests--;', replace: '' },
      // So that a short run comes to the end.
      { file: 'apps/gateway/dist/limits/concurrency-limiter.js', find: 'if (this.requests >= this.max.requests) {', replace: 'if (this.requests >= 150) {' },
    ],
    breaks: ['work'],
  },
  {
    id: 'never-back',
    name: 'a payment fails until its process is started again, once Postgres was away',
    edits: [{
      file: 'apps/store/dist/payments/payments.service.js',
      find: 'async takeAll(batch) {',
      replace: `async takeAll(batch) {
        if (this.wasAway) throw this.wasAway;
        try { await this.database.query('SELECT 1'); } catch (error) { this.wasAway = error; throw error; }`,
    }],
    breaks: ['work'],
    faults: [{ kind: 'away', atMs: 3_000, targets: ['postgres'], forMs: 1_500 }],
  },
  {
    id: 'revocation-ignored',
    name: 'what is kept of a credential outlives its revocation',
    edits: [{
      file: 'libs/credentials/dist/credential-cache.js',
      find: 'revoked: (entries) => this.evict(new Set(entries.map(({ kind, id }) => revocationKey(kind, id)))),',
      replace: 'revoked: () => undefined,',
    }],
    breaks: ['revoked'],
    trade: { visitors: 3 },
  },
  {
    id: 'silence-trusted',
    name: 'a replica that hears of no revocations goes on trusting what it has',
    edits: [{ file: 'libs/credentials/dist/revocation-log.js', find: 'return this.ageMs <= freshForMs;', replace: 'return this.freshAt > 0;' }],
    breaks: ['revoked'],
    trade: { visitors: 6, seconds: 16 },
    faults: [2_500, 6_500, 10_500].map((atMs) => ({ kind: 'cut', atMs, targets: ['notifications-1', 'notifications-2'], from: 'nats', forMs: 3_500 })),
  },
  {
    id: 'socket-goes-on',
    name: 'a socket outlives its credential',
    edits: [{ file: 'apps/notifications/dist/stream/credential-watch.js', find: 'for (const connection of this.on(revocationKey(kind, id)))\n                    this.handler?.close(connection, 4001);', replace: '' }],
    breaks: ['revoked'],
    trade: { visitors: 4 },
  },
  {
    id: 'keys-ignored',
    name: 'the Idempotency-Key of all that is done one at a time is ignored: shipments, transfers, plants, keys, endpoints',
    edits: [{ file: savedAnswers, find: 'export async function runOnce(tx, key, work) {\n    if (!key)\n        return work();', replace: 'export async function runOnce(tx, key, work) {\n    if (key !== 0)\n        return work();' }],
    breaks: ['once-per-key'],
  },
  {
    id: 'webhook-key-ignored',
    name: 'the Idempotency-Key of a new webhook is ignored',
    edits: [
      { file: 'apps/notifications/dist/webhooks/endpoints/webhooks.service.js', find: 'return this.database.transaction((tx) => runOnce(tx, idempotency, async () => {\n            assertRoomForOneMore', replace: 'return this.database.transaction((tx) => runOnce(tx, undefined, async () => {\n            assertRoomForOneMore' },
    ],
    breaks: ['once-per-key'],
    trade: { visitors: 3 },
  },
  {
    id: 'unaudited',
    name: 'a delivery is not written into the audit log',
    edits: [{ file: 'apps/store/dist/shipments/shipments.service.js', find: 'audit(tx, actorOf(context), store.deliverOrder, orderId);', replace: '' }],
    breaks: ['audit'],
  },
  {
    id: 'audit-loses',
    name: 'an entry of the audit log now and then is lost',
    edits: [{ file: 'libs/platform/dist/audit/audit-log.js', find: 'tx.send(append, [', replace: 'if (Math.random() < 0.1) return;\n    tx.send(append, [' }],
    breaks: ['audit'],
  },
  {
    id: 'library-forgets-key',
    name: 'the client library repeats a call without its Idempotency-Key',
    edits: [{ file: 'libs/client/dist/transport.js', find: 'const headers = new Headers(call.headers);', replace: "const headers = new Headers(call.headers);\n        headers.delete('idempotency-key');" }],
    breaks: ['once-per-key'],
    isOfLibrary: true,
  },
  {
    id: 'library-keeps-early',
    name: 'the client library moves its cursor before the consumer has taken the event',
    edits: [{ file: 'libs/client/dist/events.js', find: 'this.given = message.cursor;', replace: 'this.given = this.cursor = message.cursor;' }],
    breaks: ['sockets'],
    isOfLibrary: true,
  },
];
