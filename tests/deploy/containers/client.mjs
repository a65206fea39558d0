import { randomUUID } from 'node:crypto';
import { sleep } from '../../../tools/start/processes.mjs';

const KEY = 'special-key';
/** Longer than any part takes to recover. */
const PATIENCE_MS = 120_000;

/** A client that repeats requests without an answer or with 503, as the documents advise. */
export class Client {
  /** Number of repeated requests. */
  repeated = 0;
  /** Ids of the orders that the shop has confirmed. @type {Set<number>} */
  orders = new Set();

  /** @param {import('./project.mjs').Project} project */
  constructor({ url, streamUrl }) {
    this.url = url;
    this.streamUrl = streamUrl;
  }

  /**
   * @param {string} path of the gateway, or a whole address
   * @param {{ method?: string, json?: object, form?: string, headers?: Record<string, string> }} [request]
   * @returns {Promise<{ status: number, body: any }>} body: parsed if it is JSON
   */
  async ask(path, { method, json, form, headers = {} } = {}) {
    const content = json ? JSON.stringify(json) : form;
    const type = json ? 'application/json' : 'application/x-www-form-urlencoded';
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(250)) {
      const response = await fetch(new URL(path, this.url), {
        method: method ?? (content === undefined ? 'GET' : 'POST'),
        headers: { ...(headers['authorization'] ? {} : { api_key: KEY }), ...(content === undefined ? {} : { 'content-type': type }), ...headers },
        ...(content === undefined ? {} : { body: content }),
        signal: AbortSignal.timeout(15_000),
      }).catch(() => undefined);
      if (response && response.status !== 503) {
        const text = await response.text();
        return { status: response.status, body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text };
      }
      this.repeated += 1;
      if (Date.now() > end) throw new Error(`${path} had ${response?.status ?? 'no response'} for ${PATIENCE_MS / 1_000} s.`);
    }
  }

  /**
   * Orders one unit exactly once, however often it must repeat the request.
   * @param {number} plantId
   * @returns {Promise<number>} the order's id
   */
  async order(plantId) {
    const { status, body } = await this.ask('/v3/store/order', { json: { plantId, quantity: 1 }, headers: { 'idempotency-key': randomUUID() } });
    if (status !== 200 || body.status !== 'placed') throw new Error(`An order failed with ${status}: ${JSON.stringify(body)}`);
    this.orders.add(body.id);
    return body.id;
  }
}
