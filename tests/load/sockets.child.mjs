// Many WebSockets that only count frames, so that the load uses little CPU of the measured machine.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/** One in this many sockets measures latency, so that early and late positions in the write order are represented. */
const SAMPLED = 50;

const nothing = Buffer.alloc(0);
/** The read buffer of all sockets; its content is counted at once. */
const inbox = Buffer.alloc(64 * 1024);

let frames = 0;
let open = 0;
let closed = 0;
/** @type {number[]} milliseconds from an event's time to its arrival */
let lags = [];

/** @param {URL} url @param {number} index @returns {Promise<void>} open */
function openSocket(url, index) {
  return new Promise((resolve, reject) => {
    /** @type {Buffer} */
    let rest = nothing;
    let upgraded = false;
    const socket = connect({
      port: Number(url.port),
      host: url.hostname,
      onread: {
        buffer: inbox,
        callback: (size) => {
          const read = inbox.subarray(0, size);
          rest = take(rest.length === 0 ? read : Buffer.concat([rest, read]));
          return true;
        },
      },
    });
    const key = randomBytes(16).toString('base64');
    socket.on('error', reject);
    socket.write(
      `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    /** @param {Buffer} bytes @returns {Buffer} the unprocessed rest, copied out of the shared buffer */
    const take = (bytes) => {
      let from = 0;
      if (!upgraded) {
        const end = bytes.indexOf('\r\n\r\n');
        if (end === -1) return Buffer.from(bytes);
        const status = bytes.toString('latin1', 0, end).split('\r\n', 1)[0];
        if (status !== 'HTTP/1.1 101 Switching Protocols') {
          reject(new Error(`the stream responded with ${status}`));
          return nothing;
        }
        upgraded = true;
        open++;
        from = end + 4;
        resolve();
      }
      const to = takeFrames(bytes, from, socket, index % SAMPLED === 0);
      return to === bytes.length ? nothing : Buffer.from(bytes.subarray(to));
    };
    socket.on('close', () => {
      closed++;
    });
  });
}

/**
 * Counts the complete frames.
 * @param {Buffer} bytes @param {number} from @param {import('node:net').Socket} socket @param {boolean} sampled
 * @returns {number} offset of the first incomplete frame
 */
function takeFrames(bytes, from, socket, sampled) {
  let at = from;
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
  return at;
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
