import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * @typedef {object} Parcel
 * @property {number} orderId
 * @property {string} trackingNumber stored before the shop hears of it, so that a repetition reports the same parcel
 */

/** What the warehouse remembers: its place in the stream of events, and a parcel for each order. SQLite makes each change survive a crash. */
export class Book {
  #database;
  #changed = Promise.withResolvers();

  /** @param {string} folder of the database and the packing slips */
  constructor(folder) {
    this.slips = join(folder, 'slips');
    mkdirSync(this.slips, { recursive: true });
    this.#database = new DatabaseSync(join(folder, 'warehouse.sqlite'));
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS place (one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS parcels (
        order_id INTEGER PRIMARY KEY,
        tracking_number TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL DEFAULT 'to ship' CHECK (state IN ('to ship', 'shipped', 'dropped')),
        why TEXT
      ) STRICT;
      CREATE INDEX IF NOT EXISTS parcels_to_ship ON parcels (order_id) WHERE state = 'to ship';`);
  }

  /** The cursor of the last event in the book; undefined: the book is new. @returns {string | undefined} */
  get cursor() {
    return /** @type {{ cursor: string } | undefined} */ (this.#database.prepare('SELECT cursor FROM place').get())?.cursor;
  }

  /**
   * Adds orders to ship and advances the cursor, in one transaction: after a crash, both happened or neither. An order that is in the book
   * stays as it is, so events may be delivered again.
   * @param {string} cursor @param {readonly number[]} [orderIds]
   */
  add(cursor, orderIds = []) {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const insert = this.#database.prepare('INSERT INTO parcels (order_id, tracking_number) VALUES (?, ?) ON CONFLICT DO NOTHING');
      for (const orderId of orderIds) insert.run(orderId, `WH${orderId}`);
      this.#database.prepare('INSERT INTO place VALUES (1, ?) ON CONFLICT DO UPDATE SET cursor = excluded.cursor').run(cursor);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
    if (orderIds.length > 0) this.#changed.resolve(undefined);
  }

  /** Returns the next parcel to ship, and waits for one if there is none. @param {AbortSignal} signal @returns {Promise<Parcel>} */
  async next(signal) {
    const select = this.#database.prepare(`SELECT order_id AS orderId, tracking_number AS trackingNumber FROM parcels WHERE state = 'to ship' ORDER BY order_id LIMIT 1`);
    const aborted = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    for (;;) {
      signal.throwIfAborted();
      this.#changed = Promise.withResolvers();
      const parcel = select.get();
      if (parcel) return /** @type {any} */ (parcel);
      await Promise.race([this.#changed.promise, aborted]);
    }
  }

  /** Marks an order that needs no more work. @param {number} orderId @param {'shipped' | 'dropped'} state @param {string} [why] */
  finish(orderId, state, why) {
    this.#database.prepare('UPDATE parcels SET state = ?, why = ? WHERE order_id = ?').run(state, why ?? null, orderId);
  }
}
