import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { text } from 'node:stream/consumers';
import WebSocket from 'ws';
import { pause } from './client.mjs';

/** Between two acts, in milliseconds. */
const THINK = 150;
/** How long a client repeats a refused request, and waits for an event. */
const PATIENCE = 10_000;

/** @typedef {{ ms: number, error?: string }} Act */

/** Receives the webhooks of all honest clients, by order. */
export class Receiver {
  /** @type {Map<number, () => void>} */
  waiting = new Map();
  #server = createServer(async (request, response) => {
    const { data } = JSON.parse(await text(request));
    response.writeHead(204).end();
    if (data.newStatus === 'cancelled') this.waiting.get(data.orderId)?.();
  });

  async open() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    return `http://127.0.0.1:${port}/`;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/**
 * A client as it should be: it keeps its connections, follows `Retry-After`, repeats what was not answered with the same Idempotency-Key,
 * and listens to its orders by stream and webhook. From time to time it connects anew, and logs in.
 */
export class HonestClient {
  /** @type {Act[]} */
  acts = [];
  /** When the act began that has not ended. @type {number | undefined} */
  actingSince;
  #isOver = false;
  #agent;
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {Map<number, () => void>} */
  #waiting = new Map();
  #token = '';

  /** @param {{ gatewayUrl: string, streamUrl: string, address: string, username: string, password: string, plants: number[], receiver: Receiver }} parts */
  constructor(parts) {
    this.parts = parts;
    this.#agent = new Agent({ keepAlive: true, localAddress: parts.address });
  }

  /** Logs in and subscribes. @param {string} hook where its webhooks go */
  async open(hook) {
    await this.#logIn();
    await this.call('POST', '/v3/webhooks', { url: hook, eventTypes: ['order.status_changed'] });
    this.#listen();
    await once(/** @type {WebSocket} */ (this.#socket), 'open');
  }

  /** Acts until `stop`. */
  async run() {
    await pause(Math.random() * THINK);
    for (let n = Math.floor(Math.random() * 100); !this.#isOver; n++) {
      const { plants } = this.parts;
      const plantId = /** @type {number} */ (plants[n % plants.length]);
      const order = await this.#act(() => this.call('POST', '/v3/store/order', { plantId }));
      await this.#act(() => this.call('GET', `/v3/plant/${plantId}`));
      await this.#act(() => this.call('GET', '/v3/plant/findByStatus?status=available&limit=20'));
      if (order) {
        await this.#act(() => this.call('GET', `/v3/store/order/${order.id}`));
        const events = [this.#event(this.#waiting, order.id, 'no frame'), this.#event(this.parts.receiver.waiting, order.id, 'no webhook')];
        await this.#act(() => this.call('DELETE', `/v3/store/order/${order.id}`));
        for (const event of events) void event;
      }
      if (n % 8 === 0) await this.#act(() => this.call('GET', `/v3/plant/${plantId}`, undefined, false));
      if (n % 50 === 0) await this.#act(() => this.#logIn());
    }
  }

  stop() {
    this.#isOver = true;
    this.#socket?.removeAllListeners('close').terminate();
    this.#agent.destroy();
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T | undefined>} */
  async #act(work) {
    const begun = (this.actingSince = performance.now());
    /** @type {T | undefined} */
    let result;
    /** @type {string | undefined} */
    let error;
    try {
      result = await work();
    } catch (thrown) {
      error = /** @type {Error} */ (thrown).message;
    }
    this.actingSince = undefined;
    if (!this.#isOver) this.acts.push({ ms: performance.now() - begun, ...(error !== undefined && { error }) });
    await pause(THINK * (0.5 + Math.random()));
    return result;
  }

  /** @param {Map<number, () => void>} waiting @param {number} orderId @param {string} otherwise */
  async #event(waiting, orderId, otherwise) {
    const begun = performance.now();
    const arrived = await Promise.race([new Promise((resolve) => waiting.set(orderId, () => resolve(true))), pause(PATIENCE)]);
    waiting.delete(orderId);
    if (!this.#isOver) this.acts.push({ ms: performance.now() - begun, ...(!arrived && { error: otherwise }) });
  }

  #listen() {
    const { streamUrl, address } = this.parts;
    const socket = new WebSocket(`${streamUrl}/v1/orders/updates`, { headers: { authorization: `Bearer ${this.#token}` }, localAddress: address, perMessageDeflate: false });
    socket.on('message', (bytes) => {
      const { data } = JSON.parse(String(bytes));
      if (data.newStatus === 'cancelled') this.#waiting.get(data.orderId)?.();
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      this.acts.push({ ms: 0, error: `stream closed with ${code}` });
      setTimeout(() => this.#isOver || this.#listen(), 500);
    });
    this.#socket = socket;
  }

  async #logIn() {
    const { username, password } = this.parts;
    const before = this.#token;
    const { message } = await this.call('GET', `/v3/user/login?${new URLSearchParams({ username, password })}`);
    if (before === '') this.#token = message;
  }

  /** @param {string} method @param {string} path @param {object} [body] @param {boolean} [keepsConnection] @returns {Promise<any>} */
  async call(method, path, body, keepsConnection = true) {
    const headers = {
      ...(this.#token !== '' && { authorization: `Bearer ${this.#token}` }),
      ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    };
    for (const begun = performance.now(); ; ) {
      const answer = await this.#send(method, path, headers, body, keepsConnection);
      if (answer.status === 200) return JSON.parse(answer.body || 'null');
      const isRefused = [0, 429, 503].includes(answer.status);
      if (!isRefused || performance.now() - begun > PATIENCE) throw new Error(`${method} ${path.replace(/[?\d].*/, '')} ${answer.status} ${/"code":"([\w-]+)"/.exec(answer.body)?.[1] ?? answer.body}`);
      await pause(answer.status === 0 ? 200 : answer.retryAfter * 1_000);
    }
  }

  /** @param {string} method @param {string} path @param {import('node:http').OutgoingHttpHeaders} headers @param {object | undefined} body @param {boolean} keepsConnection */
  async #send(method, path, headers, body, keepsConnection) {
    const agent = keepsConnection ? this.#agent : undefined;
    try {
      const sent = request(`${this.parts.gatewayUrl}${path}`, { method, headers, agent, localAddress: this.parts.address, timeout: PATIENCE });
      sent.on('timeout', () => sent.destroy(new Error('no answer')));
      sent.end(body && JSON.stringify(body));
      const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
      return { status: answer.statusCode ?? 0, retryAfter: Number(answer.headers['retry-after'] ?? 1), body: await text(answer) };
    } catch (error) {
      return { status: 0, retryAfter: 0, body: /** @type {Error} */ (error).message };
    }
  }
}
