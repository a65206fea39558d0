import type { Msg } from '@nats-io/nats-core';
import { CodedError, outcomeUnknown, theService, unavailable } from '../errors.js';
import type { Logger } from '../logging.js';
import type { Listener, Nats } from '../nats.js';
import type { ResponseMeta } from './answer.js';
import { processNow, type RpcContext } from './context.js';
import {
  type AnswerMeta,
  checkAnswerMeta,
  decodeBatch,
  type EncodedEntry,
  encodeEntry,
  encodeBatch,
  type Entry,
  batchKinds,
  maxEntryBytes,
  type WireError,
} from './batch.js';
import { answersPrefix, callsSubject, gateway, isClockReadingsSubject, type Operation } from './operation.js';
import { beginClientSpan, endWhenSettled } from './rpc-spans.js';
import { tracing } from '../telemetry/tracing.js';

const flushBytes = 512 * 1024;
const flushEntries = 256;
/** Longer than a healthy read takes, and short enough for a waiting user. */
const readRetryAfterMs = 1_500;

/** An answer as received, for callers that forward its payload without parsing it. */
export interface RawAnswer extends ResponseMeta {
  /** UTF-8 JSON. */
  readonly payload: Uint8Array;
}

interface PendingCall {
  readonly operation: Operation<unknown, unknown>;
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: CodedError) => void;
  readonly timer: NodeJS.Timeout;
  /** `<service>.<number>` of the batch that it was sent in; undefined until it is sent. */
  batch?: string;
}

interface SentCall {
  readonly id: number;
  readonly answer: Promise<RawAnswer>;
}

interface SendBuffer {
  readonly entries: EncodedEntry[];
  readonly ids: number[];
  bytes: number;
}

type ErrorFor = (operation: Operation<unknown, unknown>) => CodedError;

const notSent: ErrorFor = (operation) => unavailable(theService(operation.service));

/** For a lost answer: a read can be repeated, a write may have taken effect. */
const lostAnswer: ErrorFor = (operation) =>
  operation.effect === 'read' ? unavailable(theService(operation.service)) : outcomeUnknown(theService(operation.service));

/**
 * Calls other services. Uses one reply inbox per process, and one batch for all calls that one turn of the event loop makes to one
 * service. A single call is sent in a batch of one entry at the end of its turn.
 *
 * `nc.request` and Nest's client take 72–198 µs of CPU per call; a coalesced call takes 4 µs (docs/decisions/transport.md).
 */
export class RpcClient {
  private readonly prefix: string;
  private readonly inbox: Listener;
  private readonly pending = new Map<number, PendingCall>();
  /** The unanswered calls of each batch. A batch's name begins with the service that it was sent to. */
  private readonly batches = new Map<string, Set<number>>();
  private readonly buffers = new Map<string, SendBuffer>();
  private lastId = 0;
  private lastBatch = 0;
  private closed = false;

  constructor(
    private readonly nats: Nats,
    private readonly service: string,
    private readonly logger: Logger,
    /** Called for each batch with its number of calls. */
    private readonly onBatch?: (calls: number) => void,
  ) {
    this.prefix = answersPrefix(service);
    this.inbox = nats.listen(`${this.prefix}.*.*`, (message) => this.receive(message));
  }

  /** @throws CodedError the service's own error; `unavailable` (nothing happened); `outcome-unknown` */
  async call<Payload, Answer>(
    operation: Operation<Payload, Answer>,
    payload: Payload,
    context: RpcContext,
  ): Promise<Answer> {
    const answer = await this.callRaw(operation, payload, context);
    return JSON.parse(Buffer.from(answer.payload).toString('utf8')) as Answer;
  }

  /** Like `call`, for an unvalidated payload, and an answer that the caller forwards as bytes. */
  callRaw(
    operation: Operation<unknown, unknown>,
    payload: unknown,
    context: RpcContext,
    idempotencyKey?: string,
  ): Promise<RawAnswer> {
    const span = tracing && beginClientSpan(operation, context.traceparent);
    if (!span) return this.ask(operation, payload, context, idempotencyKey);
    return endWhenSettled(span, this.ask(operation, payload, context.withSpan(span.traceparent), idempotencyKey));
  }

  private async ask(
    operation: Operation<unknown, unknown>,
    payload: unknown,
    context: RpcContext,
    idempotencyKey: string | undefined,
  ): Promise<RawAnswer> {
    const send = (): SentCall => this.send(operation, payload, context, idempotencyKey);
    const first = send();
    const mayRetry = operation.effect === 'read' && context.deadline.leftMs > readRetryAfterMs;
    return mayRetry ? this.retryLateRead(first, send) : first.answer;
  }

  /**
   * Sends a read a second time, to any replica, when its answer is late, since a batch sent to a dying process is lost without an
   * error. The first outcome counts. Writes are never repeated.
   */
  private async retryLateRead(first: SentCall, send: () => SentCall): Promise<RawAnswer> {
    let second: SentCall | undefined;
    let timer: NodeJS.Timeout | undefined;
    const retry = async (): Promise<RawAnswer> => (second = send()).answer;
    const retried = new Promise<RawAnswer>((resolve) => {
      timer = setTimeout(() => resolve(retry()), readRetryAfterMs);
    });
    try {
      return await Promise.race([first.answer, retried]);
    } finally {
      clearTimeout(timer);
      this.remove(first.id);
      if (second) this.remove(second.id);
    }
  }

  private send(
    operation: Operation<unknown, unknown>,
    payload: unknown,
    context: RpcContext,
    idempotencyKey: string | undefined,
  ): SentCall {
    const budgetMs = context.deadline.leftMs;
    if (!this.canSend || budgetMs === 0) throw notSent(operation);
    const id = ++this.lastId;
    const entry = encodeEntry(
      {
        id,
        op: operation.name,
        request: context.requestId,
        budgetMs,
        deadline: context.deadline.at,
        ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      },
      toJson(payload),
      this.service === gateway ? context.principalIfAny : undefined,
    );
    if (entry.length > maxEntryBytes) {
      throw new CodedError('payload-too-large', 'The request is larger than a service accepts.');
    }
    const answer = new Promise<RawAnswer>((resolve, reject) => {
      const timer = setTimeout(() => this.expire(id), Math.ceil(budgetMs));
      this.pending.set(id, { operation, resolve, reject, timer });
      this.enqueue(operation.service, id, entry);
    });
    return { id, answer };
  }

  /** Number of unanswered calls. */
  get inFlight(): number {
    return this.pending.size;
  }

  close(): void {
    this.closed = true;
    this.inbox.stop();
    for (const id of [...this.pending.keys()]) this.expire(id);
  }

  private get canSend(): boolean {
    return this.nats.isUp && !this.closed;
  }

  private enqueue(service: string, id: number, entry: EncodedEntry): void {
    let buffer = this.buffers.get(service);
    if (buffer && (buffer.bytes + entry.length > flushBytes || buffer.entries.length >= flushEntries)) {
      this.flush(service);
      buffer = undefined;
    }
    if (!buffer) {
      buffer = { entries: [], ids: [], bytes: 0 };
      this.buffers.set(service, buffer);
      this.nats.atEndOfTurn(() => this.flush(service));
    }
    buffer.entries.push(entry);
    buffer.ids.push(id);
    buffer.bytes += entry.length;
  }

  private flush(service: string): void {
    const buffer = this.buffers.get(service);
    if (!buffer) return;
    this.buffers.delete(service);
    if (!this.canSend) {
      for (const id of buffer.ids) this.fail(id, notSent);
      return;
    }
    const batch = `${service}.${++this.lastBatch}`;
    const ids = new Set<number>();
    // Skips calls whose deadline passed before they were sent.
    const entries = buffer.entries.filter((_, n) => {
      const id = buffer.ids[n] ?? 0;
      const call = this.pending.get(id);
      if (!call) return false;
      call.batch = batch;
      ids.add(id);
      return true;
    });
    if (ids.size === 0) return;
    this.batches.set(batch, ids);
    this.onBatch?.(ids.size);
    try {
      this.nats.connection.publish(callsSubject(service, this.service), encodeBatch(batchKinds.calls, entries), {
        reply: `${this.prefix}.${batch}`,
      });
    } catch (error) {
      this.logger.warn({ err: error, to: service }, 'batch not sent');
      this.failBatch(batch, (operation) => unavailable(theService(operation.service), error));
    }
  }

  private receive(message: Msg): void {
    const batch = message.subject.slice(this.prefix.length + 1);
    const from = batch.slice(0, batch.indexOf('.'));
    // No responders: the NATS server replies with an empty message and status 503.
    if (message.data.length === 0 && message.headers?.code === 503) {
      this.failBatch(batch, notSent);
      return;
    }
    // The outcome of calls is unknown if their answer cannot be parsed: they stay pending until their deadlines.
    const { kind, entries } = decodeBatch<Partial<AnswerMeta>>(message.data);
    if (kind === batchKinds.answers) for (const entry of entries) this.receiveAnswer(entry, from);
    else if (kind === batchKinds.refusal) this.refuse(entries[0], batch);
    else if (kind === batchKinds.clockRequest) this.sendClockReading(from, message.reply);
  }

  /** Answers a called service that measures our clock's offset (caller-clocks.ts). */
  private sendClockReading(from: string, reply: string | undefined): void {
    if (reply === undefined || !isClockReadingsSubject(reply, from, this.service)) return;
    const reading = encodeEntry({ clock: processNow(), wall: Date.now() });
    this.nats.connection.publish(reply, encodeBatch(batchKinds.clockReading, [reading]));
  }

  private receiveAnswer({ meta, payload }: Entry<Partial<AnswerMeta>>, from: string): void {
    try {
      checkAnswerMeta(meta);
      this.settle(meta, payload, from);
    } catch (error) {
      this.logger.error({ err: error, peer: from }, 'invalid answer received');
    }
  }

  private refuse(refusal: Entry<Partial<AnswerMeta>> | undefined, batch: string): void {
    const meta = refusal?.meta ?? {};
    checkAnswerMeta(meta);
    const { error } = meta;
    if (error) this.failBatch(batch, () => toCodedError(error));
  }

  private settle({ id = 0, error, ...meta }: AnswerMeta, payload: Uint8Array, from: string): void {
    const call = this.pending.get(id);
    if (!call) return;
    if (call.operation.service !== from) throw new Error(`the call was made to ${call.operation.service}`);
    this.remove(id);
    if (error) call.reject(toCodedError(error));
    else call.resolve({ payload, ...meta });
  }

  private failBatch(batch: string, error: ErrorFor): void {
    for (const id of [...(this.batches.get(batch) ?? [])]) this.fail(id, error);
  }

  /** Fails a call at its deadline, or when the client closes. */
  private expire(id: number): void {
    this.fail(id, this.pending.get(id)?.batch === undefined ? notSent : lostAnswer);
  }

  private fail(id: number, error: ErrorFor): void {
    const call = this.remove(id);
    call?.reject(error(call.operation));
  }

  private remove(id: number): PendingCall | undefined {
    const call = this.pending.get(id);
    if (!call) return undefined;
    this.pending.delete(id);
    clearTimeout(call.timer);
    if (call.batch !== undefined) {
      const ids = this.batches.get(call.batch);
      ids?.delete(id);
      if (ids?.size === 0) this.batches.delete(call.batch);
    }
    return call;
  }
}

const toCodedError = (error: WireError): CodedError => new CodedError(error.code, error.message, error.details ?? {});

function toJson(payload: unknown): string | Uint8Array {
  if (payload === undefined) return '';
  return payload instanceof Uint8Array ? payload : JSON.stringify(payload);
}
