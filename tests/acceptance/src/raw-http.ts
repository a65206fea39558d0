import { connect, type Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

// A raw HTTP/1.1 client: fetch corrects or refuses hostile requests, and hides a second answer to one request.

export interface RawRequest {
  readonly method: string;
  /** The request target, sent as Latin-1 without changes. */
  readonly target: string;
  /** Sent without changes; `Host` and framing headers are added if they are missing. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer;
  /** For requests with broken framing: uses a separate connection, on which only the first answer counts. */
  readonly alone?: boolean;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed. */
  readonly body: Buffer;
  readonly ms: number;
}

/** Thrown if there is no valid answer. */
export class NoAnswer extends Error {
  constructor(readonly reason: 'closed' | 'deadline' | 'not HTTP' | 'several answers') {
    super(reason);
  }
}

/** Reuses connections, as browsers do, so that the next request detects a surplus answer. */
export class RawHttp {
  private readonly host: string;
  private readonly address: { readonly host: string; readonly port: number; readonly localAddress?: string };
  private readonly idle: Socket[] = [];

  /** @param localAddress that connections come from: another loopback address is another network for the shop */
  constructor(url: string, localAddress?: string) {
    const { host, hostname, port } = new URL(url);
    this.host = host;
    this.address = { host: hostname, port: Number(port), ...(localAddress !== undefined && { localAddress }) };
  }

  /** @throws NoAnswer */
  async send(request: RawRequest, deadlineMs: number): Promise<RawAnswer> {
    const bytes = bytesOf(request, this.host);
    const reused = request.alone ? undefined : this.idleSocket();
    if (reused) {
      try {
        return await this.exchange(reused, request, bytes, deadlineMs);
      } catch (error) {
        // The server may close an idle connection at any time: retry on a new one.
        if (!(error instanceof NoAnswer) || error.reason !== 'closed') throw error;
      }
    }
    const socket = connect(this.address);
    socket.setNoDelay(true);
    return this.exchange(socket, request, bytes, deadlineMs);
  }

  close(): void {
    for (const socket of this.idle.splice(0)) socket.destroy();
  }

  private idleSocket(): Socket | undefined {
    for (let socket = this.idle.pop(); socket; socket = this.idle.pop()) {
      socket.removeAllListeners();
      if (socket.readableLength > 0) throw new NoAnswer('several answers');
      if (!socket.destroyed && socket.writable) return socket;
    }
    return undefined;
  }

  private exchange(socket: Socket, request: RawRequest, bytes: Buffer, deadlineMs: number): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const begun = performance.now();
      let received: Buffer = Buffer.alloc(0);
      const timer = setTimeout(() => finish(new NoAnswer('deadline')), deadlineMs);
      const finish = (outcome: Omit<RawAnswer, 'ms'> | NoAnswer, isReusable = false): void => {
        clearTimeout(timer);
        socket.removeAllListeners();
        socket.on('error', () => socket.destroy());
        if (isReusable) this.release(socket);
        else socket.destroy();
        if (outcome instanceof NoAnswer) reject(outcome);
        else resolve({ ...outcome, body: decoded(outcome), ms: performance.now() - begun });
      };
      const read = (isEnd: boolean): void => {
        const parsed = parse(received, request.method, isEnd);
        if (parsed === 'not HTTP') finish(new NoAnswer('not HTTP'));
        else if (parsed !== 'more') settle(parsed, isEnd);
        else if (isEnd) finish(new NoAnswer('closed'));
      };
      const settle = ({ rest, ...answer }: Parsed, isEnd: boolean): void => {
        const isLast = isEnd || request.alone === true || /close/i.test(answer.headers.get('connection') ?? '');
        if (rest > 0 && !isLast) finish(new NoAnswer('several answers'));
        else finish(answer, !isLast);
      };
      socket.removeAllListeners();
      socket.on('data', (chunk: Buffer) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        read(false);
      });
      socket.on('end', () => read(true));
      // A server that has answered may reset the connection before it has read the whole body.
      socket.on('error', () => read(true));
      socket.on('close', () => read(true));
      socket.resume();
      if (request.alone) socket.end(bytes);
      else socket.write(bytes);
    });
  }

  private release(socket: Socket): void {
    socket.on('end', () => socket.destroy());
    socket.pause();
    this.idle.push(socket);
  }
}

function bytesOf({ method, target, headers, body, alone }: RawRequest, host: string): Buffer {
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  if (!given.has('host')) lines.unshift(`Host: ${host}\r\n`);
  if (body && !alone && !given.has('transfer-encoding') && !given.has('content-length')) lines.push(`Content-Length: ${body.length}\r\n`);
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  return body ? Buffer.concat([head, body]) : head;
}

type Parsed = { status: number; headers: Headers; body: Buffer; rest: number };

function parse(received: Buffer, method: string, isEnd: boolean): Parsed | 'more' | 'not HTTP' {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return received.length > 65_536 ? 'not HTTP' : 'more';
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine)?.[1] ?? 0);
  if (status === 0) return 'not HTTP';
  const after = received.subarray(headEnd + 4);
  if (status < 200) return parse(after, method, isEnd);
  const headers = new Headers();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return 'not HTTP';
    headers.append(name, value);
  }
  if (method === 'HEAD' || status === 204 || status === 304) return { status, headers, body: Buffer.alloc(0), rest: after.length };
  if (/chunked/i.test(headers.get('transfer-encoding') ?? '')) {
    const chunks = dechunked(after);
    return typeof chunks === 'string' ? chunks : { status, headers, ...chunks };
  }
  const length = headers.get('content-length');
  if (length === null) return isEnd ? { status, headers, body: after, rest: 0 } : 'more';
  const end = Number(length);
  return after.length < end ? 'more' : { status, headers, body: after.subarray(0, end), rest: after.length - end };
}

function decoded({ headers, body }: Pick<RawAnswer, 'headers' | 'body'>): Buffer {
  if (body.length === 0) return body;
  switch (headers.get('content-encoding')) {
    case 'br':
      return brotliDecompressSync(body);
    case 'gzip':
      return gunzipSync(body);
    default:
      return body;
  }
}

const lastChunk = Buffer.from('0\r\n\r\n');

function dechunked(bytes: Buffer): { body: Buffer; rest: number } | 'more' | 'not HTTP' {
  // An answer of many chunks is not read again from its beginning with each.
  if (!bytes.includes('\r\n0\r\n\r\n') && !bytes.subarray(0, 5).equals(lastChunk)) return 'more';
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return 'more';
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) return 'not HTTP';
    const begin = lineEnd + 2;
    if (bytes.length < begin + size + 2) return 'more';
    if (size === 0) return { body: Buffer.concat(pieces), rest: bytes.length - begin - 2 };
    pieces.push(bytes.subarray(begin, begin + size));
    at = begin + size + 2;
  }
}
