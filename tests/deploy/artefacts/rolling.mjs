import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { KeptConnections } from './kept-connections.mjs';

const PER_SECOND = 100;
/** How long a terminating pod keeps serving, until the rest of Kubernetes has noticed (preStop). */
const PRE_STOP_MS = 1_000;

/** 100 requests a second: half are reads, a quarter orders, a quarter payment reports. */
export class Traffic {
  /** @type {string[]} */
  failures = [];
  answered = 0;
  /** Orders whose approval was acknowledged. @type {Set<number>} */
  approved = new Set();
  connections = new KeptConnections();
  #isOver = false;
  /** @type {number[]} */
  #unpaid = [];
  /** @type {Promise<void>} */
  #running;

  /** @param {{ url: string, key: string, plantId: number }} means */
  constructor(means) {
    this.means = means;
    this.#running = this.#run();
  }

  async stop() {
    this.#isOver = true;
    await this.#running;
    this.connections.close();
  }

  async #run() {
    const begun = performance.now();
    /** @type {Promise<void>[]} */
    const all = [];
    for (let n = 0; !this.#isOver; n++) {
      all.push(this.#one(n).catch((error) => void this.failures.push(String(error))));
      await pause(Math.max(0, begun + ((n + 1) * 1_000) / PER_SECOND - performance.now()));
    }
    await Promise.all(all);
  }

  /** @param {number} n */
  async #one(n) {
    const { plantId } = this.means;
    const unpaid = n % 4 === 3 ? this.#unpaid.shift() : undefined;
    if (unpaid !== undefined) {
      const { status } = await this.#send('POST', `/v3/store/order/${unpaid}/payment`, { outcome: 'succeeded', reference: `rolling-${unpaid}` });
      if (status === 200) this.approved.add(unpaid);
    } else if (n % 4 === 1) {
      const { status, body } = await this.#send('POST', '/v3/store/order', { plantId });
      if (status === 200) this.#unpaid.push(body.id);
    } else await this.#send('GET', n % 4 === 0 ? `/v3/plant/${plantId}` : '/v3/store/inventory');
  }

  /** Makes one attempt: a request that the caller would have to repeat counts as failed. @param {string} method @param {string} path @param {object} [json] */
  async #send(method, path, json) {
    const headers = { api_key: this.means.key, ...(json && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }) };
    const answer = await this.connections.send(this.means.url + path, { method, headers, body: json && JSON.stringify(json) });
    const status = answer.statusCode ?? 0;
    let text = '';
    for await (const part of answer.setEncoding('utf8')) text += part;
    this.answered++;
    if (status !== 200) this.failures.push(`${method} ${path}: ${status} ${text.slice(0, 200)}`);
    return { status, body: status === 200 ? JSON.parse(text) : undefined };
  }
}

/** Polling interval of the page client, in milliseconds. */
const PAGE_EVERY_MS = 40;

/** A client of pages and Server-Sent Events that reuses connections and makes one attempt per request. */
export class HttpListener {
  /** @type {string[]} */
  failures = [];
  pages = 0;
  /** Close codes of the Server-Sent Events streams. @type {number[]} */
  closes = [];
  /** Orders whose events arrived by Server-Sent Events. @type {Set<number>} */
  orders = new Set();
  connections = new KeptConnections();
  #isOver = false;
  /** @type {import('node:http').IncomingMessage | undefined} */
  #stream;
  /** @type {Promise<unknown>} */
  #running;

  /** @param {string} url of the stream @param {string} key */
  constructor(url, key) {
    this.url = url;
    this.key = key;
    this.#running = Promise.all([this.#readPages(), this.#readEvents()]);
  }

  async stop() {
    this.#isOver = true;
    this.#stream?.destroy();
    await this.#running;
    this.connections.close();
  }

  async #readPages() {
    const all = [];
    for (let n = 0; !this.#isOver; n++) {
      // Every tenth request waits for an event, so one is in flight when the replica starts to shut down.
      const query = n % 10 === 0 ? '?cursor=latest&wait=20' : '?cursor=earliest&limit=1';
      all.push(this.#page(query).catch((error) => void this.failures.push(`page${query}: ${error}`)));
      await pause(PAGE_EVERY_MS);
    }
    await Promise.all(all);
  }

  /** @param {string} query */
  async #page(query) {
    const answer = await this.#ask(query, 'application/json');
    let text = '';
    for await (const part of answer.setEncoding('utf8')) text += part;
    this.pages++;
    if (answer.statusCode !== 200) this.failures.push(`page${query}: ${answer.statusCode} ${text.slice(0, 200)}`);
  }

  async #readEvents() {
    let cursor = 'latest';
    while (!this.#isOver) {
      let rest = '';
      let code = 0;
      try {
        const answer = await this.#ask(`?cursor=${encodeURIComponent(cursor)}`, 'text/event-stream');
        this.#stream = answer;
        if (this.#isOver) answer.destroy();
        if (answer.statusCode !== 200) this.failures.push(`stream: ${answer.statusCode}`);
        for await (const part of answer.setEncoding('utf8')) {
          const messages = (rest + part).split('\n\n');
          rest = messages.pop() ?? '';
          for (const message of messages) {
            const field = (/** @type {string} */ name) => new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1];
            cursor = field('id') ?? cursor;
            const data = field('data');
            if (data === undefined) continue;
            const { code: end, data: about } = JSON.parse(data);
            if (end !== undefined) code = end;
            else this.orders.add(about.orderId);
          }
        }
      } catch (error) {
        if (!this.#isOver) this.failures.push(`stream: ${error}`);
        await pause(PAGE_EVERY_MS);
      }
      if (!this.#isOver) this.closes.push(code);
    }
  }

  /** @param {string} query @param {string} accept */
  #ask(query, accept) {
    return this.connections.send(`${this.url}/v1/orders/updates${query}`, { headers: { api_key: this.key, accept } });
  }
}

/** Returns the orders of a socket's events. @param {import('@plant-shop/testing/stream').ResumingSocket} socket @returns {Set<number>} */
export const ordersOf = ({ events }) => new Set(events.map(({ body }) => JSON.parse(body).data.orderId));

/**
 * Stops a replica as Kubernetes does: it gets no new requests, then SIGTERM.
 * @param {import('./shop.mjs').Replica} replica
 * @param {{ remove: () => void }} way
 */
export async function retire(replica, way) {
  way.remove();
  await pause(PRE_STOP_MS);
  const begun = performance.now();
  const code = await replica.stop();
  const ms = performance.now() - begun;
  assert.equal(code, 0, replica.name);
  assert.ok(ms < 15_000, `${replica.name} took ${Math.round(ms)} ms to exit`);
}
