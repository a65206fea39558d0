import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { StartError } from '../../../tools/start/errors.mjs';
import { useOf } from '../processes.mjs';

const PLANTS = 1_000;

const schema = `
  DROP TABLE IF EXISTS outbox, orders, stock;
  CREATE TABLE stock (plant_id bigint PRIMARY KEY, free bigint NOT NULL CHECK (free >= 0), reserved bigint NOT NULL);
  CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, plant_id bigint NOT NULL, quantity bigint NOT NULL,
    status text NOT NULL, placed_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id bigint NOT NULL, body text NOT NULL);
  INSERT INTO stock SELECT n, 1000000000, 0 FROM generate_series(1, ${PLANTS}) n;`;

/** One order per transaction, in one statement: stock if any is left, order, outbox. */
const script = (/** @type {number} */ plants) => `\\set plant random(1, ${plants})
WITH taken AS (UPDATE stock SET free = free - 1, reserved = reserved + 1 WHERE plant_id = :plant AND free >= 1 RETURNING plant_id),
placed AS (INSERT INTO orders (plant_id, quantity, status) SELECT plant_id, 1, 'placed' FROM taken RETURNING id, plant_id)
INSERT INTO outbox (order_id, body) SELECT id, '{"event":"order.placed","data":{"orderId":' || id || ',"plantId":' || plant_id || '}}' FROM placed;
`;

/** Postgres alone, driven by pgbench, on the shop's server. */
export class Pgbench {
  /** @param {{ folder: string, postgres: { pid: number, adminUrl: string }, signal: AbortSignal }} at */
  constructor({ folder, postgres: { pid, adminUrl }, signal }) {
    this.folder = folder;
    this.pid = pid;
    this.adminUrl = adminUrl;
    this.signal = signal;
  }

  async prepare() {
    await this.psql(this.adminUrl, 'DROP DATABASE IF EXISTS anchor');
    await this.psql(this.adminUrl, 'CREATE DATABASE anchor');
    await this.psql(this.url, schema);
  }

  /** @param {{ plants: number, clients: number, seconds: number }} load @returns {Promise<{ perSecond: number, cpu: number }>} Postgres' CPU, in microseconds an order */
  async orders({ plants, clients, seconds }) {
    const file = join(this.folder, `order-${plants}.sql`);
    writeFileSync(file, script(plants));
    const args = ['-n', '-M', 'prepared', '-c', `${clients}`, '-j', `${Math.min(2, clients)}`, '-T', `${seconds}`, '-f', file, this.url];
    // Checkpoints before and after, so that dirty pages are written within their own measurement.
    await this.psql(this.adminUrl, 'CHECKPOINT');
    const before = useOf(this.pid).seconds;
    const stdout = await run(binary('pgbench'), args, { what: 'pgbench', signal: this.signal });
    const cpuSeconds = useOf(this.pid).seconds - before;
    await this.psql(this.url, 'VACUUM');
    await this.psql(this.adminUrl, 'CHECKPOINT');
    const tps = /^tps = ([\d.]+)/m.exec(stdout)?.[1];
    if (tps === undefined) throw new Error(`pgbench printed no rate:\n${stdout}`);
    return { perSecond: Number(tps), cpu: (cpuSeconds * 1e6) / (Number(tps) * seconds) };
  }

  get url() {
    return this.adminUrl.replace(/\/postgres$/, '/anchor');
  }

  /** @param {string} url @param {string} sql */
  psql(url, sql) {
    return run(binary('psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', sql], { what: 'psql', signal: this.signal });
  }
}

/** @param {string} name */
export function binary(name) {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort().reverse() : [];
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new StartError(`The Postgres anchors need ${name}: install Postgres' server package, which contains it.`);
  return found;
}
