import type { Msg } from '@nats-io/nats-core';
import { CodedError, outcomeUnknown, unavailable } from '../errors.js';
import type { Logger } from '../logging.js';
import type { Listener, Nats } from '../nats.js';
import type { ResponseMeta } from './answer.js';
import type { RpcContext } from './context.js';
import {
  type AnswerMeta,
  checkAnswerMeta,
  decodeFrame,
  type EncodedEntry,
  encodeEntry,
  encodeFrame,
  type Entry,
  frameKinds,
  maxEntryBytes,
  type WireError,
} from './frame.js';
import type { Operation } from './operation.js';
import { processNow } from './process-clock.js';
import { beginCall, endWith } from './rpc-spans.js';
import { tracing } from '../telemetry/tracing.js';
import { answersPrefix, callsSubject, isClockReadingsSubject } from './subjects.js';

const flushBytes = 512 * 1024;
/** Longer than healthy reads take, and short enough for somebody who waits. */
const readPatienceMs = 1_500;
const flushEntries = 256;

/** An answer as it came over the wire, for callers that pass it on without looking into it. */
export interface RawAnswer extends ResponseMeta {
  /** UTF-8 JSON. */
  readonly payload: Uint8Array;
}

interface PendingCall {
  readonly operation: Operation<unknown, unknown>;
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: CodedError) => void;
  readonly timer: NodeJS.Timeout;
  /** The frame that it was sent in; absent while it waits for the end of its turn. */
  frame?: string;
}

interface SentCall {
  readonly id: number;
  readonly answer: Promise<RawAnswer>;
}

interface Outbox {
  readonly entries: EncodedEntry[];
  readonly ids: number[];
  bytes: number;
}

type ErrorFor = (operation: Operation<unknown, unknown>) => CodedError;

const notSent: ErrorFor = (operation) => unavailable(operation.service);

/** A lost answer: a read can be asked again, a write may have taken effect. */
const lostAnswer: ErrorFor = (operation) =>
  operation.effect === 'read' ? unavailable(operation.service) : outcomeUnknown(operation.service);

const noBytes = new Uint8Array(0);

/**
 * Calls other services: one reply inbox per process, and one frame for all calls that one turn of the event loop makes
 * to one service. A call alone is a frame of one and waits only for the end of its turn.
 *
 * Why not `nc.request` or Nest's client: 52–198 µs of CPU a call against 4 µs coalesced (docs/decisions/transport.md).
 */
export class RpcClient {
  private readonly prefix: string;
  private readonly inbox: Listener;
  private readonly pending = new Map<number, PendingCall>();
  /** The calls of each frame that have no answer yet. */
  private readonly frames = new Map<string, Set<number>>();
  private readonly outboxes = new Map<string, Outbox>();
  private lastId = 0;
  private lastFrame = 0;
  private closed = false;

  constructor(
    private readonly nats: Nats,
    service: string,
    private readonly logger: Logger,
    /** Told of each frame how many calls are in it. */
    private readonly onFrame?: (calls: number) => void,
  ) {
    this.prefix = answersPrefix(service);
    this.inbox = nats.listen(`${this.prefix}.*`, (message) => this.receive(message));
  }

  /**
   * @throws CodedError whatever the service answers, `unavailable` (surely nothing happened), `outcome-unknown`
   */
  async call<Payload, Answer>(
    operation: Operation<Payload, Answer>,
    payload: Payload,
    context: RpcContext,
  ): Promise<Answer> {
    const answer = await this.callRaw(operation, payload, context);
    return JSON.parse(Buffer.from(answer.payload).toString('utf8')) as Answer;
  }

  /** Like `call`, for a payload that its owner has yet to validate and an answer that is passed on as bytes. */
  callRaw(
    operation: Operation<unknown, unknown>,
    payload: unknown,
    context: RpcContext,
    idempotencyKey?: string,
  ): Promise<RawAnswer> {
    const span = tracing && beginCall(operation, context.traceparent);
    if (!span) return this.ask(operation, payload, context, idempotencyKey);
    return endWith(span, this.ask(operation, payload, context.within(span.traceparent), idempotencyKey));
  }

  private async ask(
    operation: Operation<unknown, unknown>,
    payload: unknown,
    context: RpcContext,
    idempotencyKey: string | undefined,
  ): Promise<RawAnswer> {
    const send = (): SentCall => this.send(operation, payload, context, idempotencyKey);
    const first = send();
    const isAskedOnceMore = operation.effect === 'read' && context.deadline.leftMs > readPatienceMs;
    return isAskedOnceMore ? this.askOnceMore(first, send) : first.answer;
  }

  /**
   * A frame that was sent to a process while it died is lost without a trace. A read whose answer is late is asked once
   * more, of whoever takes calls now; the first outcome counts. A write never is.
   */
  private async askOnceMore(first: SentCall, send: () => SentCall): Promise<RawAnswer> {
    let second: SentCall | undefined;
    let timer: NodeJS.Timeout | undefined;
    const askAgain = async (): Promise<RawAnswer> => (second = send()).answer;
    const late = new Promise<RawAnswer>((resolve) => {
      timer = setTimeout(() => resolve(askAgain()), readPatienceMs);
    });
    try {
      return await Promise.race([first.answer, late]);
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
        ...(context.principal && { principal: context.principal }),
        ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      },
      toBytes(payload),
    );
    if (entry.length > maxEntryBytes) {
      throw new CodedError('payload-too-large', 'The request is larger than a service takes.');
    }
    const answer = new Promise<RawAnswer>((resolve, reject) => {
      const timer = setTimeout(() => this.end(id), Math.ceil(budgetMs));
      this.pending.set(id, { operation, resolve, reject, timer });
      this.enqueue(operation.service, id, entry);
    });
    return { id, answer };
  }

  /** Calls under way. */
  get inFlight(): number {
    return this.pending.size;
  }

  close(): void {
    this.closed = true;
    this.inbox.stop();
    for (const id of [...this.pending.keys()]) this.end(id);
  }

  private get canSend(): boolean {
    return this.nats.isUp && !this.closed;
  }

  private enqueue(service: string, id: number, entry: EncodedEntry): void {
    let outbox = this.outboxes.get(service);
    if (outbox && (outbox.bytes + entry.length > flushBytes || outbox.entries.length >= flushEntries)) {
      this.flush(service);
      outbox = undefined;
    }
    if (!outbox) {
      outbox = { entries: [], ids: [], bytes: 0 };
      this.outboxes.set(service, outbox);
      setImmediate(() => this.flush(service));
    }
    outbox.entries.push(entry);
    outbox.ids.push(id);
    outbox.bytes += entry.length;
  }

  private flush(service: string): void {
    const outbox = this.outboxes.get(service);
    if (!outbox) return;
    this.outboxes.delete(service);
    if (!this.canSend) {
      for (const id of outbox.ids) this.fail(id, notSent);
      return;
    }
    const frame = String(++this.lastFrame);
    const ids = new Set<number>();
    // A call may have ended with its deadline while it waited here.
    const entries = outbox.entries.filter((_, n) => {
      const id = outbox.ids[n] ?? 0;
      const call = this.pending.get(id);
      if (!call) return false;
      call.frame = frame;
      ids.add(id);
      return true;
    });
    if (ids.size === 0) return;
    this.frames.set(frame, ids);
    this.onFrame?.(ids.size);
    try {
      this.nats.connection.publish(callsSubject(service), encodeFrame(frameKinds.calls, entries), {
        reply: `${this.prefix}.${frame}`,
      });
    } catch (error) {
      this.logger.warn({ err: error, to: service }, 'frame not sent');
      this.failFrame(frame, (operation) => unavailable(operation.service, error));
    }
  }

  private receive(message: Msg): void {
    const frame = message.subject.slice(this.prefix.length + 1);
    // The server itself answers a frame that nobody listens for: an empty message with status 503.
    if (message.data.length === 0 && message.headers?.code === 503) {
      this.failFrame(frame, notSent);
      return;
    }
    // What is not understood leaves its calls pending: they end with their deadlines, since their outcome is unknown.
    const { kind, entries } = decodeFrame<Partial<AnswerMeta>>(message.data);
    if (kind === frameKinds.answers) for (const entry of entries) this.take(entry, frame);
    else if (kind === frameKinds.refusal) this.refuse(entries[0], frame);
    else if (kind === frameKinds.clockRequest) this.tellClock(message.reply);
  }

  /** A service that we call measures how our clock relates to its own (caller-clocks.ts). */
  private tellClock(reply: string | undefined): void {
    if (reply === undefined || !isClockReadingsSubject(reply)) return;
    const reading = encodeEntry({ clock: processNow(), wall: Date.now() });
    this.nats.connection.publish(reply, encodeFrame(frameKinds.clockReading, [reading]));
  }

  private take({ meta, payload }: Entry<Partial<AnswerMeta>>, frame: string): void {
    try {
      checkAnswerMeta(meta);
      this.settle(meta, payload);
    } catch (error) {
      this.logger.error({ err: error, frame }, 'answer not understood');
    }
  }

  private refuse(refusal: Entry<Partial<AnswerMeta>> | undefined, frame: string): void {
    const meta = refusal?.meta ?? {};
    checkAnswerMeta(meta);
    const { error } = meta;
    if (error) this.failFrame(frame, () => toCodedError(error));
  }

  private settle({ id, error, ...facts }: AnswerMeta, payload: Uint8Array): void {
    const call = id === undefined ? undefined : this.remove(id);
    if (!call) return;
    if (error) call.reject(toCodedError(error));
    else call.resolve({ payload, ...facts });
  }

  private failFrame(frame: string, error: ErrorFor): void {
    for (const id of [...(this.frames.get(frame) ?? [])]) this.fail(id, error);
  }

  /** The end of waiting. */
  private end(id: number): void {
    this.fail(id, this.pending.get(id)?.frame === undefined ? notSent : lostAnswer);
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
    if (call.frame !== undefined) {
      const ids = this.frames.get(call.frame);
      ids?.delete(id);
      if (ids?.size === 0) this.frames.delete(call.frame);
    }
    return call;
  }
}

const toCodedError = (error: WireError): CodedError => new CodedError(error.code, error.message, error.details ?? {});

function toBytes(payload: unknown): Uint8Array {
  if (payload === undefined) return noBytes;
  return payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload));
}
