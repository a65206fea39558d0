import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import WebSocket from 'ws';

// What an attacker does beside honest clients, as much of it as the shop's limits admit and one machine can share with the shop. Each attack
// has a rate or a number of connections, at most 1,500 requests and one gigabit a second, so that the limits are tested, not who gets the
// processor.

/**
 * @typedef {object} Prey what the attacker knows and has
 * @property {string} gatewayUrl
 * @property {string} streamUrl
 * @property {string[]} credentials of one user
 * @property {string[]} webhooks of that user
 * @property {number[]} plants that honest clients order
 * @property {string} image a large one
 */

/** Its network: not that of any honest client. */
export const ATTACKER = '127.0.66.1';

export class Attacker {
  /** How often each answer came. @type {Record<string, number>} */
  answers = {};
  #stopped = false;
  #agent = new Agent({ keepAlive: true, localAddress: ATTACKER, maxSockets: 1_000 });
  /** @type {Set<{ destroy: () => void }>} */
  #open = new Set();
  #count = 0;

  /** @param {Prey} prey */
  constructor(prey) {
    this.prey = prey;
  }

  /** @param {number | string} answer */
  note(answer) {
    if (this.#stopped) return;
    this.answers[answer] = (this.answers[answer] ?? 0) + 1;
  }

  /** Another credential of the user each time. */
  get credential() {
    const { credentials } = this.prey;
    return { api_key: /** @type {string} */ (credentials[this.#count++ % credentials.length]) };
  }

  /** A number that is new each time. */
  get fresh() {
    return this.#count++;
  }

  /** Does something so many times a second, also when earlier ones have not ended. @param {number} perSecond @param {() => unknown} work */
  async each(perSecond, work) {
    const begun = performance.now();
    for (let done = 0; !this.#stopped; await new Promise((resolve) => setTimeout(resolve, 20))) {
      for (const due = ((performance.now() - begun) * perSecond) / 1_000; done < due && !this.#stopped; done++) void work();
    }
  }

  /** @param {string} method @param {string} path @param {{ headers?: Record<string, string>, body?: string | Buffer }} [options] */
  send(method, path, { headers = {}, body } = {}) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    this.note('sent');
    const sent = request(`${this.prey.gatewayUrl}${path}`, { method, agent: this.#agent, headers: { ...type, ...headers } });
    sent.on('response', (answer) => {
      this.note(answer.statusCode ?? 0);
      answer.resume();
    });
    sent.on('error', () => this.note('closed'));
    sent.end(body);
  }

  /** Keeps so many connections open that send a text and nothing more, and read nothing. @param {number} count @param {string} text @param {string} [url] */
  hold(count, text, url = this.prey.gatewayUrl) {
    const { hostname, port } = new URL(url);
    return this.each(count / 2, () => {
      if (this.#open.size >= count) return;
      const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKER }, () => socket.write(text));
      socket.pause();
      this.#open.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#open.delete(socket);
        this.note('closed');
      });
    });
  }

  /** Opens a WebSocket of the stream and passes it on when it is open. @param {(socket: WebSocket) => void} [use] */
  listen(use) {
    const socket = new WebSocket(`${this.prey.streamUrl}/v1/orders/updates`, { headers: this.credential, localAddress: ATTACKER, perMessageDeflate: false });
    const held = { destroy: () => socket.terminate() };
    this.#open.add(held);
    socket.on('open', () => {
      this.note('open');
      use?.(socket);
    });
    socket.on('error', () => this.note('refused'));
    socket.on('close', (code) => {
      this.#open.delete(held);
      this.note(code);
    });
    return socket;
  }

  get isStopped() {
    return this.#stopped;
  }

  async stop() {
    this.#stopped = true;
    for (const one of this.#open) one.destroy();
    this.#agent.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const padded = (/** @type {Attacker} */ { prey }) => `{"plantId":${prey.plants[0]}${' '.repeat(380 * 1024)}}`;
const head = (/** @type {string} */ line, /** @type {string} */ fields) => `${line} HTTP/1.1\r\nhost: x\r\n${fields}\r\n`;
/** A message of an agent, as clients of 2025 send it. @param {string} method @param {object} [params] */
const message = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const callOf = (/** @type {string} */ name, /** @type {object} */ given) => message('tools/call', { name, arguments: given });
const forMcp = { accept: 'application/json, text/event-stream' };
/** @param {Attacker} a @param {string} body */
const tell = (a, body) => a.send('POST', '/mcp', { headers: { ...a.credential, ...forMcp }, body });
const mcpHead = (/** @type {Attacker} */ { credential }, /** @type {number} */ length) =>
  head('POST /mcp', `api_key: ${credential.api_key}\r\naccept: ${forMcp.accept}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n`);
const words = Array.from({ length: 60 }, (_, n) => n.toString(36)).join('+');

const list = message('tools/list');

/** @type {Record<string, (attacker: Attacker) => unknown>} */
export const attacks = {
  'the largest bodies': (a) => a.each(40, () => a.send('POST', '/v3/store/order', { headers: a.credential, body: padded(a) })),
  'the longest searches': (a) => a.each(200, () => a.send('GET', `/v3/plant/${a.fresh % 2 ? 'facets' : 'search'}?q=${words}+${a.fresh}`, { headers: a.credential })),
  'bodies that lack a byte': (a) => a.hold(3_000, head('POST /v3/user', 'content-type: application/json\r\ncontent-length: 200\r\n') + 'x'.repeat(199)),
  'images that are not read': (a) => a.hold(1_000, head(`GET ${a.prey.image}`, '')),
  'silent connections': (a) => a.hold(4_000, ''),
  'silent connections to the stream': (a) => a.hold(4_000, '', a.prey.streamUrl.replace('ws', 'http')),
  'one user with many credentials': (a) => a.each(1_500, () => a.send('GET', `/v3/store/order?limit=${1 + (a.fresh % 100)}`, { headers: a.credential })),
  'anonymous requests from one network': (a) => a.each(1_500, () => a.send('GET', `/v3/plant/search?q=${a.fresh}`)),
  'wrong credentials': (a) => a.each(1_000, () => a.send('GET', '/v3/store/order', { headers: { api_key: `wrong-${a.fresh}` } })),
  registrations: (a) => a.each(100, () => a.send('POST', '/v3/user', { body: JSON.stringify(newUser(a)) })),
  'registrations by list': (a) => a.each(2, () => a.send('POST', '/v3/user/createWithList', { body: JSON.stringify(Array.from({ length: 200 }, () => newUser(a))) })),
  '40 replays': (a) => replays(a, 2),
  '60 replays to 20 endpoints of one host': (a) => replays(a, 20),
  'streams of one account': (a) => a.each(400, () => a.listen()),
  'streams that come and go': (a) => a.each(200, () => a.listen((socket) => socket.close())),
  'all stock reserved': (a) => a.each(50, () => a.send('POST', '/v3/store/order', { headers: a.credential, body: JSON.stringify({ plantId: a.prey.plants[a.fresh % a.prey.plants.length], quantity: STOCK / 2 }) })),
  'an agent that calls its tools': (a) => a.each(1_500, () => tell(a, a.fresh % 2 ? callOf('get_order', { orderId: a.fresh }) : callOf('find_plants', { q: `${a.fresh}` }))),
  'an agent that lists its tools': (a) => a.each(1_500, () => tell(a, message('tools/list'))),
  'an agent with the largest arguments': (a) => a.each(40, () => tell(a, callOf('find_plants', { q: 'x'.repeat(380 * 1024) }))),
  'messages of an agent that lack a byte': (a) => a.hold(600, mcpHead(a, 380 * 1024) + ' '.repeat(380 * 1024 - 1)),
  'answers to an agent that are not read': (a) => a.hold(150, (mcpHead(a, list.length) + list).repeat(20)),
  'WebSockets that flood': async (a) => {
    for (let n = 0; n < 20; n++) flood(a);
    await a.each(20, () => undefined);
  },
};

/** Units of each plant that honest clients order. */
export const STOCK = 100_000;

/** @param {Attacker} a */
const newUser = (a) => ({ username: `mallory-${process.pid}-${a.fresh}`, password: `a long enough password ${a.fresh}` });

/** @param {Attacker} a @param {number} endpoints */
async function replays(a, endpoints) {
  const since = new Date(Date.now() - 86_400_000).toISOString();
  await a.each(20, () => a.send('POST', `/v3/webhooks/${a.prey.webhooks[a.fresh % endpoints]}/replay`, { headers: a.credential, body: JSON.stringify({ since }) }));
}

/** Sends pings and frames as fast as they are taken, and connects again when the shop closes the socket. @param {Attacker} a */
function flood(a) {
  a.listen(async (socket) => {
    socket.on('close', () => a.isStopped || setTimeout(() => flood(a), 100));
    while (socket.readyState === WebSocket.OPEN) {
      for (let n = 0; n < 50; n++) socket.ping();
      socket.send('x'.repeat(1_000));
      if (socket.bufferedAmount > 100_000) await once(socket, 'pong').catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
}
