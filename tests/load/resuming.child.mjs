// Many stream clients, by WebSocket or Server-Sent Events, that resume on another replica when theirs closes the connection.
import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { connect } from 'node:net';

/** Pause before each retry after a refusal or a broken connection. */
const RETRY_MS = 250;
/** Number of clients that measure latency. */
const SAMPLED = 50;
const nothing = Buffer.alloc(0);

/** @typedef {{ index: number, to: string, cursor: string, frames: number, isOpen: boolean, askedAt: number }} Client */

/** @type {Client[]} */
let clients = [];
/** The replica to which closed clients reconnect, and whether they obey the advised delay. */
let next = { to: '', isAdvised: true };
/** Reconnections: time of the request, and milliseconds until open. */
/** @type {{ at: number, ms: number }[]} */
let reconnections = [];
/** Failed connections by HTTP status or error code. @type {Record<string, number>} */
let refusals = {};
/** @type {number[]} milliseconds from an event to its arrival */
let lags = [];

/** @param {Client} client */
function opened(client) {
  client.isOpen = true;
  if (client.to === next.to) reconnections.push({ at: client.askedAt, ms: performance.now() - client.askedAt });
}

/** @param {Client} client @param {string} text of an event @param {string} cursor */
function took(client, text, cursor) {
  client.cursor = cursor;
  client.frames++;
  if (client.index >= SAMPLED) return;
  const [, timestamp = ''] = /"timestamp":"([^"]+)"/.exec(text) ?? [];
  lags.push(Date.now() - Date.parse(timestamp));
}

/** @param {Client} client @param {number | undefined} adviceMs @param {(client: Client) => void} begin */
function comesBack(client, adviceMs, begin) {
  client.isOpen = false;
  client.to = next.to;
  setTimeout(() => begin(client), next.isAdvised ? (adviceMs ?? 0) : 0);
}

/** @param {Client} client @param {string} why @param {(client: Client) => void} begin */
function refused(client, why, begin) {
  refusals[why] = (refusals[why] ?? 0) + 1;
  setTimeout(() => begin(client), RETRY_MS);
}

/** @param {Client} client */
function byWebSocket(client) {
  const url = new URL(client.to);
  client.askedAt = performance.now();
  let rest = nothing;
  let isUpgraded = false;
  let isClosed = false;
  const socket = connect({ port: Number(url.port), host: url.hostname });
  socket.write(
    `GET ${url.pathname}${url.search}&cursor=${client.cursor} HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  /** @type {(() => void) | undefined} */
  let after;
  socket.on('error', (error) => {
    after ??= () => refused(client, /** @type {NodeJS.ErrnoException} */ (error).code ?? 'error', byWebSocket);
  });
  socket.on('data', (read) => {
    // Strings arrive only where an encoding is set.
    const piece = /** @type {Buffer<ArrayBuffer>} */ (read);
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (!isUpgraded) {
      const end = rest.indexOf('\r\n\r\n');
      if (end === -1) return;
      const status = rest.toString('latin1', 9, 12);
      if (status !== '101') {
        after ??= () => refused(client, status, byWebSocket);
        socket.destroy();
        return;
      }
      isUpgraded = true;
      opened(client);
      rest = rest.subarray(end + 4);
    }
    for (let frame; (frame = frameOf(rest)); rest = rest.subarray(frame.size)) {
      if (frame.opcode === 1) took(client, frame.payload.toString(), JSON.parse(frame.payload.toString()).cursor);
      else if (frame.opcode === 9) socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]));
      else if (frame.opcode === 8 && !isClosed) {
        isClosed = true;
        const code = frame.payload.readUInt16BE(0);
        const advice = /reconnect-after-ms=(\d+)/.exec(frame.payload.toString('utf8', 2))?.[1];
        socket.end(Buffer.from([0x88, 0x82, 0, 0, 0, 0, code >> 8, code & 255]));
        after ??= () => comesBack(client, advice === undefined ? undefined : Number(advice), byWebSocket);
      }
    }
    rest = Buffer.from(rest);
  });
  socket.on('close', () => (after ?? (() => refused(client, 'cut', byWebSocket)))());
}

/** @param {Buffer} bytes */
function frameOf(bytes) {
  if (bytes.length < 2) return undefined;
  const short = /** @type {number} */ (bytes[1]) & 0x7f;
  const head = short === 126 ? 4 : 2;
  if (bytes.length < head) return undefined;
  const size = head + (short === 126 ? bytes.readUInt16BE(2) : short);
  return bytes.length < size ? undefined : { opcode: /** @type {number} */ (bytes[0]) & 0x0f, payload: bytes.subarray(head, size), size };
}

/** @param {Client} client */
function byEventStream(client) {
  client.askedAt = performance.now();
  const headers = { accept: 'text/event-stream', ...(client.cursor !== 'latest' && { 'last-event-id': client.cursor }) };
  const asked = get(client.to.replace(/^ws/, 'http'), { headers, agent: false });
  asked.on('error', (error) => refused(client, /** @type {NodeJS.ErrnoException} */ (error).code ?? 'error', byEventStream));
  asked.on('response', (answer) => {
    if (answer.statusCode !== 200) {
      answer.resume();
      refused(client, `${answer.statusCode}`, byEventStream);
      return;
    }
    opened(client);
    let rest = '';
    /** @type {number | undefined} the retry delay, as a browser stores it */
    let retryMs;
    let isTold = false;
    answer.setEncoding('utf8').on('data', (piece) => {
      const blocks = (rest + piece).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        retryMs = Number(/^retry: (\d+)$/m.exec(block)?.[1] ?? retryMs);
        isTold ||= block.startsWith('event: close');
        const [, cursor] = /^id: (.+)$/m.exec(block) ?? [];
        if (cursor !== undefined) took(client, block, cursor);
      }
    });
    answer.on('error', () => {});
    answer.on('close', () => (isTold ? comesBack(client, retryMs, byEventStream) : refused(client, 'cut', byEventStream)));
  });
}

/**
 * @typedef {object} Message
 * @property {{ url: string, cursor: string, clients: number, isSse: boolean }} [open]
 * @property {typeof next} [next]
 * @property {boolean} [reset] clears latencies and reconnections
 * @property {boolean} [all] includes latencies and reconnections in the answer; with thousands of them this keeps the process busy
 */
process.on('message', async (/** @type {Message} */ message) => {
  if (message.next) next = message.next;
  if (message.reset) [lags, reconnections, refusals] = [[], [], {}];
  if (message.open) {
    const { url, cursor, isSse } = message.open;
    const begin = isSse ? byEventStream : byWebSocket;
    for (let left = message.open.clients; left > 0; left -= 100) {
      const some = Array.from({ length: Math.min(100, left) }, (_, n) => ({ index: clients.length + n, to: url, cursor, frames: 0, isOpen: false, askedAt: 0 }));
      clients = [...clients, ...some];
      for (const one of some) begin(one);
      while (some.some(({ isOpen }) => !isOpen)) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const frames = clients.map((one) => one.frames);
  const open = clients.filter(({ isOpen, to }) => isOpen && (next.to === '' || to === next.to)).length;
  process.send?.({ open, least: Math.min(...frames), most: Math.max(...frames), refusals, ...(message.all && { reconnections, lags }) });
});
process.send?.({});
