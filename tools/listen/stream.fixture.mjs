import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

// A minimal stream endpoint as its document describes it, controlled by the tests: a log, pages, sockets.

const opcodes = { text: 0x1, close: 0x8, ping: 0x9 };

export class Stream {
  /** @type {string[]} */
  log = [];
  /** @type {Set<import('node:stream').Duplex>} */
  sockets = new Set();
  /** The cursors of all connections. @type {string[]} */
  cursors = [];
  keys = new Set(['good']);
  /** Unless 0, the status with which pages are refused, with `Retry-After: 1`. */
  refusesWith = 0;
  /** How many requests were refused with it. */
  refusals = 0;

  async start(port = 0) {
    this.server = createServer((request, response) => {
      const { status, cursor } = this.refusesWith > 0 ? { status: this.refusesWith, cursor: '' } : this.judge(request);
      if (this.refusesWith > 0) this.refusals += 1;
      response.writeHead(status, { 'content-type': 'application/json', ...(this.refusesWith > 0 && { 'retry-after': '1' }) });
      response.end(JSON.stringify(status === 200 ? { events: [], cursor } : { status, detail: `It is ${status}.` }));
    });
    this.server.on('upgrade', (request, socket) => this.upgrade(request, socket));
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = /** @type {import('node:net').AddressInfo} */ (this.server.address()).port;
    this.url = new URL(`ws://127.0.0.1:${this.port}/v1/orders/updates`);
  }

  /** Ends all connections, like a killed process. */
  async kill() {
    for (const socket of this.sockets) socket.destroy();
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  /** @param {Record<string, unknown>} data */
  emit(data) {
    const cursor = `${this.log.length + 1}`;
    const frame = JSON.stringify({ id: `event-${cursor}`, cursor, event: 'order.status_changed', timestamp: '2027-03-01T08:00:01.000Z', data });
    this.log.push(frame);
    this.send(opcodes.text, Buffer.from(frame));
  }

  /** @param {number} code @param {string} [reason] */
  close(code, reason = '') {
    const payload = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]);
    payload.writeUInt16BE(code);
    this.send(opcodes.close, payload);
    this.sockets.clear();
  }

  ping() {
    this.send(opcodes.ping, Buffer.alloc(0));
  }

  /** @param {import('node:http').IncomingMessage} request */
  judge({ url = '', headers }) {
    const { searchParams } = new URL(url, 'http://stream');
    const key = searchParams.get('api_key') ?? headers['api_key'];
    const asked = searchParams.get('cursor') ?? 'latest';
    if (!this.keys.has(`${key}`)) return { status: 401, cursor: '' };
    if (!/^(latest|earliest|\d+)$/.test(asked)) return { status: 400, cursor: '' };
    return { status: 200, cursor: asked === 'earliest' ? '0' : asked === 'latest' ? `${this.log.length}` : asked };
  }

  /** @param {import('node:http').IncomingMessage} request @param {import('node:stream').Duplex} socket */
  upgrade(request, socket) {
    const { status, cursor } = this.judge(request);
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\n\r\n`);
      return;
    }
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`);
    socket.on('error', () => {});
    // Either side closes with a close frame, then ends the connection.
    socket.on('data', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    this.sockets.add(socket);
    this.cursors.push(cursor);
    for (const frame of this.log.slice(Number(cursor))) socket.write(framed(opcodes.text, Buffer.from(frame)));
  }

  /** @param {number} opcode @param {Buffer} payload */
  send(opcode, payload) {
    for (const socket of this.sockets) {
      socket.write(framed(opcode, payload));
      if (opcode === opcodes.close) socket.end();
    }
  }
}

/** RFC 6455, section 5.2, for payloads of up to 64 KiB. @param {number} opcode @param {Buffer} payload */
function framed(opcode, payload) {
  const head = payload.length < 126 ? Buffer.from([0x80 | opcode, payload.length]) : Buffer.from([0x80 | opcode, 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, payload]);
}
