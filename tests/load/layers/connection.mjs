import { Duplex } from 'node:stream';

/**
 * A connection without a kernel socket: pushes requests into the server's parser and collects its output. One request at a time.
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

  /** Socket methods that the server calls. */
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

  /** @override */
  _read() {}

  /** @override @param {string | Buffer} chunk @param {BufferEncoding} _encoding @param {() => void} done */
  _write(chunk, _encoding, done) {
    this.#take(chunk);
    done();
  }

  /** @override @param {{ chunk: string | Buffer }[]} chunks @param {() => void} done */
  _writev(chunks, done) {
    for (const { chunk } of chunks) this.#take(chunk);
    done();
  }

  /**
   * @param {Buffer} request a complete HTTP/1.1 request
   * @returns {Promise<string>} the response including headers
   */
  ask(request) {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.push(request);
    });
  }

  /** @param {string | Buffer} chunk */
  #take(chunk) {
    this.#response += typeof chunk === 'string' ? chunk : chunk.toString('latin1');
    const end = this.#response.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#response)?.[1];
    if (length === undefined) throw new Error(`A response without Content-Length:\n${this.#response}`);
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
