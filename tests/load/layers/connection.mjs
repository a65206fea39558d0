import { Duplex } from 'node:stream';

/**
 * A connection without a kernel: the server's parser reads what we push, and what it writes comes here. One request at a time.
 */
export class Connection extends Duplex {
  #response = '';
  /** @type {((text: string) => void) | undefined} */
  #answered;

  /** @param {import('node:http').Server} server need not listen */
  constructor(server) {
    super({ decodeStrings: false });
    server.emit('connection', this);
  }

  /** What the server asks of a socket. */
  setTimeout() {
    return this;
  }
  setNoDelay() {
    return this;
  }
  setKeepAlive() {
    return this;
  }
  remoteAddress = '127.0.0.1';

  _read() {}

  /** @param {string | Buffer} chunk @param {BufferEncoding} _encoding @param {() => void} done */
  _write(chunk, _encoding, done) {
    this.#take(chunk);
    done();
  }

  /** @param {{ chunk: string | Buffer }[]} chunks @param {() => void} done */
  _writev(chunks, done) {
    for (const { chunk } of chunks) this.#take(chunk);
    done();
  }

  /**
   * @param {Buffer} request a whole one, as bytes of HTTP/1.1
   * @returns {Promise<string>} the response with its head
   */
  ask(request) {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.push(request);
    });
  }

  /** @param {string | Buffer} chunk */
  #take(chunk) {
    this.#response += typeof chunk === 'string' ? chunk : chunk.latin1Slice();
    const end = this.#response.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#response)?.[1];
    if (length === undefined) throw new Error(`An answer without a length:\n${this.#response}`);
    if (this.#response.length < end + 4 + Number(length)) return;
    const response = this.#response;
    this.#response = '';
    this.#answered?.(response);
  }
}

/**
 * @param {string} line like `GET /v3/plant/7`
 * @param {Record<string, string>} [headers]
 * @param {unknown} [body]
 */
export function requestOf(line, headers = {}, body) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const all = { host: 'shop', 'user-agent': 'bench', accept: '*/*', ...(text && { 'content-type': 'application/json', 'content-length': `${text.length}` }), ...headers };
  return Buffer.from(`${line} HTTP/1.1\r\n${Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`);
}
