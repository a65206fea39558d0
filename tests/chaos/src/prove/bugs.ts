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
  readonly name: string;
  readonly edits: readonly Edit[];
  /** At least one of these rules must say so. */
  readonly breaks: readonly Rule[];
  /** What must happen for it to show. */
  readonly faults?: readonly Fault[];
  readonly trade?: Partial<TradeOptions>;
}

const repository = 'apps/store/dist/orders/orders.repository.js';
const stockRepository = 'apps/store/dist/stock/stock.repository.js';
const moves = 'apps/store/dist/orders/locked-orders.js';
const orders = 'apps/store/dist/orders/orders.service.js';

const withoutStockLock: Edit = {
  file: stockRepository,
  find: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id FOR NO KEY UPDATE',
  replace: 'FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id',
};

const kills = (...targets: string[]): Fault[] => [3_000, 6_000].map((atMs) => ({ kind: 'kill', atMs, targets }));

export const bugs: readonly Bug[] = [
  {
    name: 'lost update: stock is written as it was read, without a lock',
    edits: [
      withoutStockLock,
      {
        file: stockRepository,
        find: 'WHERE id = ANY($1))\n         ORDER BY plant_id FOR NO KEY UPDATE',
        replace: 'WHERE id = ANY($1))\n         ORDER BY plant_id',
      },
      {
        file: moves,
        find: 'moveUnits(tx, this.unitsByPlant);',
        replace: `for (const row of this.stock) {
          const units = this.unitsByPlant.get(row.plantId) ?? noUnits;
          tx.send('UPDATE stock SET free = $2, reserved = $3, sold = $4 WHERE plant_id = $1',
            [row.plantId, row.free + units.free, row.reserved + units.reserved, row.sold + units.sold]);
        }`,
      },
    ],
    breaks: ['stock'],
  },
  {
    name: 'a move now and then writes no transition',
    edits: [{ file: repository, find: 'FROM moved ORDER BY id', replace: 'FROM moved WHERE id % 5 <> 0 ORDER BY id' }],
    breaks: ['timeline'],
  },
  {
    name: 'an order is answered before its commit',
    edits: [{
      file: orders,
      find: 'return await this.database.transaction((tx) => placeBatch(tx, entries, dueAfterPlacing(this.policy), options));',
      replace: `return await new Promise((resolve, reject) => {
        this.database.transaction(async (tx) => {
          resolve(await placeBatch(tx, entries, dueAfterPlacing(this.policy), options));
          await new Promise((committing) => setTimeout(committing, 500));
        }).catch(reject);
      });`,
    }],
    breaks: ['register', 'acknowledged'],
    faults: kills('store-1'),
  },
  {
    name: 'write skew: an order does not share its customer with whoever closes the account',
    edits: [
      { file: 'apps/store/dist/customers/customers.repository.js', find: ' ORDER BY user_id FOR KEY SHARE', replace: ' ORDER BY user_id' },
      // The gap is wider than it would be, so that a short run meets it.
      {
        file: 'apps/store/dist/orders/place-batch.js',
        find: 'const repeated = entries.map(',
        replace: 'await new Promise((passing) => setTimeout(passing, 400));\n    const repeated = entries.map(',
      },
    ],
    breaks: ['owners'],
    // An order waits for the batch before it, which is as slow: who leaves at once is gone before its own begins.
    trade: { leavers: 6, leaveWithinMs: 800 },
  },
  {
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
    name: 'events beyond a hole are logged and handed on',
    edits: [
      { file: 'libs/events/dist/stretch.js', find: 'if (!same || same.id !== at.id) {', replace: 'if (false) {' },
      { file: 'libs/events/dist/stretch.js', find: 'if (event.seq !== last.seq + 1)', replace: 'if (event.seq <= last.seq)' },
      // Some nudges take longer than the next ones, or do not arrive: the code as it is does not mind.
      {
        file: 'libs/events/dist/feed-numberer.js',
        find: 'publish(nudge, nats, subject, logger);\n',
        replace: 'if (Math.random() < 0.7) setTimeout(() => publish(nudge, nats, subject, logger), Math.random() * 50);\n',
      },
    ],
    breaks: ['log', 'sockets', 'settled'],
  },
  {
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
        file: 'apps/store/dist/orders/place-batch.js',
        find: 'const repeated = entries.map(',
        replace: 'await new Promise((passing) => setTimeout(passing, 50));\n    const repeated = entries.map(',
      },
    ],
    breaks: ['stock'],
    trade: { unitsEach: 15, perSecond: 20 },
  },
  {
    name: 'the Idempotency-Key is ignored',
    edits: [{ file: orders, find: '            idempotency,\n            traceparent,', replace: '            idempotency: undefined,\n            traceparent,' }],
    breaks: ['once-per-key'],
  },
  {
    name: 'a webhook is sent again with other bytes',
    edits: [{
      file: 'apps/notifications/dist/webhooks/delivery-worker.js',
      find: 'async attempt({ claimed, url, secrets }) {',
      replace: 'async attempt({ claimed: { ...claimed }, url, secrets }) {\n        claimed.body = claimed.body.replace(/"timestamp":"[^"]*"/, `"timestamp":"${new Date().toISOString()}"`);',
    }],
    breaks: ['receivers'],
  },
  {
    name: 'what is kept of the catalogue is shown without a check',
    edits: [{
      file: 'apps/gateway/dist/reads/cached-reads.js',
      find: 'if (kept?.stamp !== undefined && (await this.stamps.current()).has(kept.stamp)) {',
      replace: 'if (kept?.stamp !== undefined) {',
    }],
    breaks: ['own-writes'],
  },
  {
    name: 'a cancellation forgets to give the units back',
    edits: [{ file: 'apps/store/dist/stock/stock.js', find: "case 'cancel':", replace: "case 'cancel':\n            return noUnits;" }],
    breaks: ['stock'],
  },
  {
    name: 'the event is appended outside the transaction, after it',
    edits: [
      { file: orders, find: 'this.ids = new OrderIds(database);', replace: 'this.ids = new OrderIds(database);\n        globalThis.ownDatabase = database;' },
      { file: repository, find: 'FROM moved ORDER BY id', replace: 'FROM moved WHERE false' },
      {
        file: repository,
        find: 'tx.send(writeMoved, [',
        replace: `setTimeout(() => {
        for (const one of moves) {
          void globalThis.ownDatabase.query(
            \`INSERT INTO order_transitions (order_id, order_version, previous_status, new_status, at, actor, reason, owner_id, event_id, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)\`,
            [one.orderId, one.version, one.previousStatus, one.newStatus, at, one.actor, one.reason, one.ownerId, one.eventId, one.body],
          ).catch(() => undefined);
        }
    }, 2_000);
    tx.send(writeMoved, [`,
      },
    ],
    breaks: ['timeline'],
    faults: kills('store-1', 'store-2'),
  },
];
