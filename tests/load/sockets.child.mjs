// Many WebSockets that only count, so that who drives the load costs little of the machine that is measured.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/** One of so many sockets is read for how late its frames are: one that is written to first says nothing of one that is written to last. */
const SAMPLED = 50;

let frames = 0;
let open = 0;
let closed = 0;
/** @type {number[]} milliseconds from an event's time to its arrival */
let lags = [];

/** @param {URL} url @param {number} index @returns {Promise<void>} open */
function openSocket(url, index) {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname);
    const key = randomBytes(16).toString('base64');
    socket.on('error', reject);
    socket.write(
      `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    let rest = Buffer.alloc(0);
    let upgraded = false;
    socket.on('data', (chunk) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      if (!upgraded) {
        const end = rest.indexOf('\r\n\r\n');
        if (end === -1) return;
        const status = rest.toString('latin1', 0, end).split('\r\n', 1)[0];
        if (status !== 'HTTP/1.1 101 Switching Protocols') return reject(new Error(`the stream answered ${status}`));
        upgraded = true;
        open++;
        rest = rest.subarray(end + 4);
        resolve();
      }
      rest = take(rest, socket, index % SAMPLED === 0);
    });
    socket.on('close', () => {
      closed++;
    });
  });
}

/**
 * Counts the whole frames at the beginning.
 * @param {Buffer} bytes @param {import('node:net').Socket} socket @param {boolean} sampled @returns {Buffer} what is left
 */
function take(bytes, socket, sampled) {
  let at = 0;
  while (bytes.length - at >= 2) {
    const opcode = /** @type {number} */ (bytes[at]) & 0x0f;
    let length = /** @type {number} */ (bytes[at + 1]) & 0x7f;
    let head = 2;
    if (length === 126) {
      if (bytes.length - at < 4) break;
      length = bytes.readUInt16BE(at + 2);
      head = 4;
    }
    if (bytes.length - at < head + length) break;
    if (opcode === 1) {
      frames++;
      if (sampled) lags.push(Date.now() - Date.parse(JSON.parse(bytes.toString('utf8', at + head, at + head + length)).timestamp));
    } else if (opcode === 9) {
      // A pong, masked with zeros.
      socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]));
    }
    at += head + length;
  }
  return bytes.subarray(at);
}

process.on('message', async (/** @type {{ open?: { urls: string[], sockets: number }, reset?: boolean, lags?: boolean }} */ message) => {
  if (message.open) {
    const { urls, sockets } = message.open;
    for (let first = 0; first < sockets; first += 100) {
      const some = Array.from({ length: Math.min(100, sockets - first) }, (_, n) => first + n);
      await Promise.all(some.map((index) => openSocket(new URL(/** @type {string} */ (urls[index % urls.length])), index)));
    }
  }
  if (message.reset) {
    frames = 0;
    lags = [];
  }
  process.send?.({ frames, open, closed, ...(message.lags && { lags }) });
});
process.send?.({});
