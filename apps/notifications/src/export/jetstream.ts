import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { type JetStreamManager, jetstreamManager, JetStreamApiCodes, JetStreamApiError, type PubAck } from '@nats-io/jetstream';
import {
  type Authenticator,
  AuthorizationError,
  connect,
  credsAuthenticator,
  headers as newHeaders,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  ProtocolError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import { hostOf } from '../webhooks/endpoints/target-guard.js';
import { batchLimitMs, type Broker, type BrokerAddress, Held, type Message, type OpenBroker, type Published } from './broker.js';

/** Time limit of a connection and of a request. */
const limitMs = 4_000;
/** A stream may have been made anew in a pause as long as this: looks before it publishes. */
const pauseMs = 200;

/** The last message that the broker has acknowledged. */
interface Mark {
  /** When the stream was created. */
  readonly created: string;
  /** The message's number in the stream. */
  readonly seq: number;
  readonly id: string;
}

/** A message and its place in the batch. */
interface Numbered {
  readonly message: Message;
  readonly n: number;
}

/** What the server answers to a message. */
type Answer = Partial<PubAck> & { readonly error?: { readonly err_code?: number; readonly description?: string } };

/** Publishes to a stream of NATS JetStream, which must exist: its retention and replicas are for its owner to choose. */
export const openJetStream: OpenBroker = async (address, mark) => {
  const connection = await connectTo(address);
  try {
    return await JetStream.on(connection, address, mark === undefined ? undefined : (JSON.parse(mark) as Mark));
  } catch (error) {
    await connection.close();
    throw heldBy(error);
  }
};

async function connectTo({ url, addresses, ca, credentials }: BrokerAddress): Promise<NatsConnection> {
  const isSecure = url.protocol === 'tls:';
  try {
    return await connect({
      servers: addresses.map((one) => `${one.includes(':') ? `[${one}]` : one}:${url.port}`),
      name: 'plant-shop',
      // Other servers of its cluster, and a later lookup, may lead to internal addresses. The exporter connects again.
      ignoreClusterUpdates: true,
      reconnect: false,
      timeout: limitMs,
      pingInterval: 1_000,
      maxPingOut: 2,
      noAsyncTraces: true,
      tls: isSecure ? await trustOf(hostOf(url), ca) : null,
      ...(credentials?.user !== undefined && { user: credentials.user, pass: credentials.password ?? '' }),
      ...(credentials?.token !== undefined && { token: credentials.token }),
      ...(credentials?.creds !== undefined && { authenticator: authenticatorOf(credentials.creds) }),
    });
  } catch (error) {
    // The client fails to begin TLS that it was not allowed.
    if (!isSecure && (error as Error).cause instanceof TypeError) throw new Held('unreachable', 'The server wants TLS: its address must begin with tls.');
    throw heldBy(error);
  }
}

/** For the certificate of the name, not of an address that it leads to. Passed on to Node, although it is not part of the client's types. */
async function trustOf(host: string, file: string): Promise<object> {
  const name = isIP(host) === 0 ? { servername: host } : { servername: '', host };
  return file === '' ? name : { ...name, ca: [...tls.getCACertificates('default'), await readFile(file, 'utf8')] };
}

/** @throws Held for another text than that of a `.creds` file */
function authenticatorOf(creds: string): Authenticator {
  const authenticator = credsAuthenticator(Buffer.from(creds));
  try {
    authenticator('to see whether it can be read');
  } catch {
    throw new Held('unauthorized', 'The credentials are not the text of a .creds file.');
  }
  return authenticator;
}

/** Codes of errors of certificates and of TLS. */
const ofTls = /^(CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_SSL|EPROTO)/;

/** What is wrong with the connection or the server, if it did not say so itself. */
function heldBy(error: unknown): Held {
  if (error instanceof Held) return error;
  const { name, message } = error as Error;
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError || error instanceof PermissionViolationError) {
    return new Held('unauthorized', message);
  }
  // Such as "User Authentication Revoked".
  if (error instanceof ProtocolError && /\bauth/i.test(message)) return new Held('unauthorized', message);
  if (ofTls.test((error as NodeJS.ErrnoException).code ?? '')) return new Held('unreachable', `The certificate or the TLS handshake is not valid: ${message.split(';')[0] ?? ''}.`);
  if (name === 'JetStreamNotEnabled') return new Held('refused', 'The server has no JetStream for this user.');
  if (error instanceof JetStreamApiError) return new Held(error.code === JetStreamApiCodes.StreamNotFound ? 'stream-missing' : 'refused', message);
  return new Held('unreachable', message);
}

/** Codes of errors of JetStream. */
const codes = { messageTooLarge: 10054, otherStream: 10060, storeFailed: 10077, insufficientResources: 10023, insufficientStorage: 10047 };

function refusalOf({ headers, data }: Msg, answer: Answer | undefined, stream: string): Held | undefined {
  if (headers?.code === 503 && data.length === 0) return new Held('other-subjects', `No stream takes the subjects that ${stream} should have.`);
  const { err_code: code, description = 'no reason' } = answer?.error ?? {};
  if (!answer?.error) return answer?.stream === stream ? undefined : new Held('other-subjects', `The stream ${answer?.stream} takes the subjects.`);
  if (code === codes.otherStream) return new Held('other-subjects', 'Another stream takes the subjects.');
  if (code === codes.messageTooLarge) return new Held('too-large', description);
  const isFull = code === codes.insufficientResources || code === codes.insufficientStorage || (code === codes.storeFailed && description.includes('exceeded'));
  return new Held(isFull ? 'stream-full' : 'refused', description);
}

class JetStream implements Broker {
  /** Called with the answers, by the last part of their subject. */
  private readonly waiting = new Map<number, (answer: Msg | Held) => void>();
  private readonly inbox: string;
  private count = 0;
  /** What the server said beside its answers. */
  private complaint: Held | undefined;
  private closedBy: Held | undefined;
  private answeredAt = performance.now();

  private constructor(
    private readonly connection: NatsConnection,
    private readonly streams: JetStreamManager['streams'],
    private readonly address: BrokerAddress,
    private readonly created: string,
    private mark: Mark | undefined,
    readonly lost: Broker['lost'],
  ) {
    this.inbox = `_INBOX.${crypto.randomUUID().replaceAll('-', '')}`;
    connection.subscribe(`${this.inbox}.*`, {
      callback: (error, message) => {
        if (error) this.complaint = heldBy(error);
        else this.waiting.get(Number(message.subject.slice(this.inbox.length + 1)))?.(message);
      },
    });
    void this.watch();
  }

  static async on(connection: NatsConnection, address: BrokerAddress, mark: Mark | undefined): Promise<JetStream> {
    const { streams } = await jetstreamManager(connection, { timeout: limitMs, checkAPI: false });
    const { created, state } = await streams.info(address.stream);
    if (!mark) return new JetStream(connection, streams, address, created, undefined, undefined);
    const marked = created === mark.created && state.last_seq >= mark.seq ? await streams.getMessage(address.stream, { seq: mark.seq }) : undefined;
    // A stream's own limits delete old messages, but no number is given twice in its life.
    if (marked === null || marked?.header.get('Nats-Msg-Id') === mark.id) return new JetStream(connection, streams, address, created, mark, undefined);
    // What a stream made anew has says nothing of what it lacks.
    if (created !== mark.created) return new JetStream(connection, streams, address, created, undefined, { newest: undefined });
    const newest = await streams.getMessage(address.stream, { last_by_subj: `${address.subject}.>` });
    const headers = newest && Object.fromEntries(newest.header.keys().map((name) => [name, newest.header.get(name)]));
    return new JetStream(connection, streams, address, created, undefined, { newest: headers ?? undefined });
  }

  /**
   * A message is sent when its predecessor of the same key is acknowledged, so that a refused one is never behind its successor.
   * Messages of different keys do not wait for each other.
   */
  async publish(batch: readonly Message[]): Promise<Published> {
    const acks: (Answer | undefined)[] = batch.map(() => undefined);
    const end = performance.now() + batchLimitMs;
    let held: Held | undefined;
    if (performance.now() - this.answeredAt > pauseMs) {
      try {
        const { created, state } = await this.streams.info(this.address.stream);
        if (created !== this.created || state.last_seq < (this.mark?.seq ?? 0)) return this.result(batch, acks, undefined, true);
      } catch (error) {
        return this.result(batch, acks, heldBy(error));
      }
    }
    for (let rest = batch.map((message, n): Numbered => ({ message, n })); rest.length > 0 && !held; ) {
      const keys = new Set<string>();
      const [wave, later]: [Numbered[], Numbered[]] = [[], []];
      for (const one of rest) {
        (keys.has(one.message.key) ? later : wave).push(one);
        keys.add(one.message.key);
      }
      held = await this.send(wave, acks, end);
      rest = later;
    }
    this.answeredAt = performance.now();
    return this.result(batch, acks, held);
  }

  get fault(): Held | undefined {
    return this.closedBy;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** Sends messages at once and waits for their answers. Returns the first refusal. */
  private send(wave: readonly Numbered[], acks: (Answer | undefined)[], end: number): Promise<Held | undefined> {
    return new Promise((resolve) => {
      const base = this.count;
      this.count += wave.length;
      let [open, held]: [number, Held | undefined] = [wave.length, undefined];
      const finish = (): void => {
        clearTimeout(timer);
        for (let n = 0; n < wave.length; n++) this.waiting.delete(base + n);
        resolve(held);
      };
      const timer = setTimeout(() => {
        held ??= this.complaint ?? new Held('unreachable', `The server did not answer within ${batchLimitMs / 1_000} s.`);
        finish();
      }, Math.max(0, end - performance.now()));
      const take = (n: number, answer: Msg | Held): void => {
        if (answer instanceof Held) held ??= answer;
        else {
          const ack = answer.data.length === 0 ? undefined : answer.json<Answer>();
          const refusal = refusalOf(answer, ack, this.address.stream);
          if (refusal) held ??= refusal;
          else acks[n] = ack;
        }
        if (--open === 0) finish();
      };
      wave.forEach(({ message, n }, k) => {
        this.waiting.set(base + k, (answer) => take(n, answer));
        const refusal = this.write(message, base + k);
        if (refusal) take(n, refusal);
      });
    });
  }

  private write({ key, id, headers, body }: Message, number: number): Held | undefined {
    const all = newHeaders();
    // `set` would look for earlier values.
    all.append('Nats-Msg-Id', id);
    all.append('Nats-Expected-Stream', this.address.stream);
    for (const [name, value] of Object.entries(headers)) all.append(name, value);
    try {
      this.connection.publish(`${this.address.subject}.${key}`, Buffer.from(body), { headers: all, reply: `${this.inbox}.${number}` });
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message.includes('max_payload')) return new Held('too-large', `The event ${id} is larger than the server's max_payload.`);
      return this.complaint ?? heldBy(error);
    }
  }

  private result(batch: readonly Message[], acks: readonly (Answer | undefined)[], held: Held | undefined, wasMadeAnew = false): Published {
    const missing = acks.indexOf(undefined);
    const count = missing === -1 ? batch.length : missing;
    let hasRestarted = wasMadeAnew;
    let duplicates = 0;
    const before = this.mark;
    for (const [n, ack] of acks.entries()) {
      if (!ack) continue;
      const { seq = 0, duplicate = false } = ack;
      if (duplicate) duplicates++;
      // Only a stream that was made anew gives a number again.
      else if (before && seq <= before.seq) hasRestarted = true;
      if (seq > (this.mark?.seq ?? 0)) this.mark = { created: this.created, seq, id: batch[n]?.id ?? '' };
    }
    return {
      count: hasRestarted ? 0 : count,
      duplicates,
      ...(held && { held }),
      ...(hasRestarted && { hasRestarted }),
      mark: hasRestarted ? JSON.stringify({ seq: 0, id: '', ...this.mark, created: '' }) : this.mark && JSON.stringify(this.mark),
    };
  }

  private async watch(): Promise<void> {
    for await (const status of this.connection.status()) if (status.type === 'error') this.fail(heldBy(status.error));
    const reason = await this.connection.closed();
    this.closedBy = this.complaint ?? heldBy(reason ?? new Error('The connection was closed.'));
    this.fail(this.closedBy);
  }

  /** Ends what waits: the server answers no refused message, and nothing on a closed connection. */
  private fail(complaint: Held): void {
    this.complaint = complaint;
    for (const end of [...this.waiting.values()]) end(complaint);
  }
}
