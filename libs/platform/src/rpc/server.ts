import type { Msg } from '@nats-io/nats-core';
import { type CustomTransportStrategy, type MessageHandler, RpcException, Server } from '@nestjs/microservices';
import { CodedError, overloaded, theService, unavailable } from '../errors.js';
import type { Logger } from '../logging.js';
import type { Listener, Nats } from '../nats.js';
import { type OpenSpan, tracing } from '../telemetry/tracing.js';
import { Deadline, IdempotencyKey, processNow, RpcContext } from './context.js';
import { unwrapResponse } from './answer.js';
import { type CallerClock, CallerClocks, type CallingProcess } from './caller-clocks.js';
import {
  type CallMeta,
  checkCallMeta,
  decodeBatch,
  type EncodedEntry,
  encodeEntry,
  encodeBatch,
  type Entry,
  batchKinds,
  maxEntryBytes,
  type WireError,
} from './batch.js';
import { callerOf, callsSubject, gateway, isAnswersSubject, type Operation, prefixOf, takesIdempotencyKey } from './operation.js';
import { nestHandler, type OperationHandler } from './operation-handlers.js';
import { beginServerSpan, endWithCode } from './rpc-spans.js';
import { parseJson, validated } from './validation.js';

const flushBytes = 512 * 1024;

/** The share of a replica that takes most calls, in shares of another one. */
const shareOfMost = 16;

export interface RpcServerOptions {
  readonly service: string;
  /** Maximum number of calls handled at the same time; further ones get `overloaded`. */
  readonly maxInFlight: number;
  readonly onAnswered?: (operation: string, code: string, seconds: number) => void;
}

interface SendBuffer {
  readonly reply: string;
  readonly entries: EncodedEntry[];
  bytes: number;
}

/**
 * Nest's transport on our batches. Handles each call of a batch independently, so that a slow one does not delay the others. Sends all
 * answers for one caller that are ready in one turn of the event loop in one batch.
 */
export class RpcServer extends Server implements CustomTransportStrategy {
  /** The broker spreads calls over the subscriptions of all replicas. */
  private readonly listeners: Listener[] = [];
  private takesMost: NodeJS.Timeout | undefined;
  private running = 0;
  /** Number of calls that wait until their caller's clock is measured. */
  private waiting = 0;
  private readonly clocks: CallerClocks;
  /** By calling process, which identifies its calls by their ids. */
  private readonly buffers = new Map<string, SendBuffer>();
  /** By the operation's name. */
  private readonly handlers = new Map<string, OperationHandler>();

  constructor(
    private readonly nats: Nats,
    private readonly options: RpcServerOptions,
    private readonly log: Logger,
  ) {
    super();
    this.clocks = new CallerClocks(nats, options.service, log);
  }

  /** Number of calls that were received and not answered yet. */
  get inFlight(): number {
    return this.running + this.waiting;
  }

  /** Returns by how many milliseconds each calling service's time of day is ahead of ours: the largest difference of its processes. */
  callerSkews(): Map<string, number> {
    return this.clocks.skews();
  }

  /**
   * Adds operations: before Nest listens, `startService` adds those that need none of Nest's guards, pipes and the like. Of two handlers of
   * one operation, the last one counts.
   */
  serve(handlers: Iterable<OperationHandler>): void {
    for (const handler of handlers) this.handlers.set(handler.operation.name, handler);
  }

  /** Nest calls it for each `@Answers` when the app starts to listen. Handlers that `serve` added before are called directly. */
  override addHandler(_pattern: unknown, call: MessageHandler, _isEvent?: boolean, extras?: Record<string, unknown>): void {
    const operation = extras?.['operation'] as Operation<unknown, unknown> | undefined;
    if (operation && !this.handlers.has(operation.name)) this.serve([nestHandler(operation, call as (...args: unknown[]) => unknown)]);
  }

  /** Calls back once the NATS server has our subscription, so that calls can be made at once. */
  listen(callback: () => void): void {
    this.clocks.listen();
    this.subscribe();
    // On a lost connection, the client subscribes when it reconnects. Nest would treat an argument of the callback as a failed start.
    void this.nats.connection.flush().then(
      () => callback(),
      () => callback(),
    );
  }

  private subscribe(): void {
    const { service } = this.options;
    this.listeners.push(this.nats.listen(callsSubject(service, '*'), (message) => this.receive(message), { queue: service }));
  }

  /**
   * Takes most calls, so that other replicas get few: a release compares its first new one before it gets more. With the same share as the
   * others, that one would fail a third of all calls until someone notices.
   * @param seconds then it takes its share again, at the latest; 0: now
   */
  takeMost(seconds: number): void {
    clearTimeout(this.takesMost);
    this.takesMost = setTimeout(() => this.listeners.splice(1).forEach((one) => void one.drain()), seconds * 1_000).unref();
    while (seconds > 0 && this.listeners.length > 0 && this.listeners.length < shareOfMost) this.subscribe();
  }

  /** Stops accepting batches. Calls that were already received are still handled. */
  async stopAccepting(): Promise<void> {
    await Promise.all(this.listeners.splice(0).map((one) => one.drain()));
  }

  /** Waits until all calls are answered, at most `limitMs`. @returns the number of unanswered calls */
  async finish(limitMs: number): Promise<number> {
    const end = performance.now() + limitMs;
    while (this.inFlight > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const caller of [...this.buffers.keys()]) this.flush(caller);
    return this.inFlight;
  }

  /** Nest calls this last. `service/service.ts` drains the server before. */
  close(): void {
    for (const one of this.listeners) one.stop();
    this.clocks.stop();
  }

  on(): never {
    throw new Error('RpcServer has no events');
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the signature is Nest's
  unwrap<T>(): T {
    return this.nats.connection as T;
  }

  private receive(message: Msg): void {
    const { reply } = message;
    const service = callerOf(message.subject);
    if (reply === undefined || !isAnswersSubject(reply, service, this.options.service)) {
      this.log.warn({ peer: service, reply }, 'call without a valid reply subject');
      return;
    }
    let calls: Entry<CallMeta>[];
    try {
      calls = readCalls(message.data);
    } catch (error) {
      const refusal = encodeEntry({ error: toWireError(error) });
      this.nats.connection.publish(reply, encodeBatch(batchKinds.refusal, [refusal]));
      return;
    }
    const now = processNow();
    const caller = this.clocks.of(prefixOf(reply), service, now);
    // A deadline is a reading of the caller's clock. Calls wait until the offset to it is measured, so that none is refused as late by a wrong one.
    const knowsDeadlines = caller.clock.boundOffset(now, lastSent(calls), firstDeadline(calls));
    if (knowsDeadlines || this.waiting >= this.options.maxInFlight) this.startAll(reply, calls, caller, now);
    else void this.startWhenMeasured(reply, calls, caller, now);
    if (caller.clock.needsMeasuring(now)) void this.clocks.measure(caller);
  }

  private async startWhenMeasured(reply: string, calls: readonly Entry<CallMeta>[], caller: CallingProcess, readAt: number): Promise<void> {
    this.waiting += calls.length;
    await this.clocks.measure(caller);
    this.waiting -= calls.length;
    this.startAll(reply, calls, caller, readAt);
  }

  private startAll(reply: string, calls: readonly Entry<CallMeta>[], caller: CallingProcess, readAt: number): void {
    for (const call of calls) this.start(reply, call, caller.service, caller.isGone ? expired : localDeadline(call.meta, caller.clock, readAt));
  }

  private start(reply: string, call: Entry<CallMeta>, caller: string, deadline: Deadline): void {
    const handler = this.handlerFor(call.meta, caller);
    const span = tracing && beginServerSpan(this.options.service, labelOf(handler), call.meta.traceparent);
    if (span) void span.run(() => this.answer(reply, call, handler, deadline, span));
    else void this.answer(reply, call, handler, deadline);
  }

  /** Returns the operation's handler, or undefined if there is none for this caller: that is a defect or an attack. */
  private handlerFor({ op, request, principal }: CallMeta, caller: string): OperationHandler | undefined {
    const handler = this.handlers.get(op);
    if (!handler || (handler.operation.callers.includes(caller) && (!principal || caller === gateway))) return handler;
    this.log.error({ rpc: handler.operation.pattern, peer: caller, requestId: request, principal: principal?.subject }, 'call refused: not for this caller');
    return undefined;
  }

  private async answer(
    reply: string,
    { meta, payload }: Entry<CallMeta>,
    handler: OperationHandler | undefined,
    deadline: Deadline,
    span?: OpenSpan,
  ): Promise<void> {
    const started = performance.now();
    let code = 'ok';
    let entry: EncodedEntry;
    this.running++;
    try {
      entry = encodeAnswer(meta.id, await this.execute(handler, meta, payload, deadline, span?.traceparent ?? meta.traceparent));
    } catch (error) {
      const wire = toWireError(error);
      code = wire.code;
      if (code === 'internal') this.log.error({ err: error, rpc: this.patternOf(meta.op), requestId: meta.request });
      entry = this.encodeError(meta, wire);
    } finally {
      this.running--;
    }
    if (span) endWithCode(span, code);
    this.options.onAnswered?.(labelOf(handler), code, (performance.now() - started) / 1e3);
    this.enqueue(reply, entry);
  }

  /** Sends the code without its details if they cannot be serialised or are too large, so that the batch's other answers arrive. */
  private encodeError(meta: CallMeta, error: WireError): EncodedEntry {
    try {
      const entry = encodeEntry({ id: meta.id, error });
      if (entry.length <= maxEntryBytes) return entry;
      throw new RangeError(`${entry.length} bytes exceed the limit of an entry`);
    } catch (failure) {
      this.log.error({ err: failure, rpc: this.patternOf(meta.op), requestId: meta.request }, 'details not sent');
      return encodeEntry({ id: meta.id, error: { code: error.code, message: error.message.slice(0, 1_000) } });
    }
  }

  /** Returns the answer, or a promise of it. */
  private execute(handler: OperationHandler | undefined, meta: CallMeta, payload: Buffer, deadline: Deadline, traceparent: string | undefined): unknown {
    if (this.inFlight > this.options.maxInFlight) throw overloaded(theService(this.options.service));
    // The caller has given up, and may have reported the outcome as unknown: the call must not take effect now.
    if (deadline.isPast) throw unavailable(theService(this.options.service));
    if (!handler) throw new CodedError('unknown-operation', `${theService(this.options.service)} has no operation ${meta.op} for this caller.`);
    const { operation } = handler;
    const value = validated(operation.payload, parseJson(payload));
    const { principal, idempotencyKey } = meta;
    const idempotency =
      principal && idempotencyKey !== undefined && takesIdempotencyKey(operation)
        ? new IdempotencyKey(principal.subject, idempotencyKey, operation.pattern, payload)
        : undefined;
    return handler.handle(value, new RpcContext(meta.request, deadline, principal, traceparent, idempotency));
  }

  private patternOf(op: string): string {
    return `${this.options.service}.${op}`;
  }

  private enqueue(reply: string, entry: EncodedEntry): void {
    const caller = prefixOf(reply);
    let buffer = this.buffers.get(caller);
    if (buffer && buffer.bytes + entry.length > flushBytes) {
      this.flush(caller);
      buffer = undefined;
    }
    if (!buffer) {
      buffer = { reply, entries: [], bytes: 0 };
      this.buffers.set(caller, buffer);
      this.nats.atEndOfTurn(() => this.flush(caller));
    }
    buffer.entries.push(entry);
    buffer.bytes += entry.length;
  }

  private flush(caller: string): void {
    const buffer = this.buffers.get(caller);
    if (!buffer) return;
    this.buffers.delete(caller);
    try {
      this.nats.connection.publish(buffer.reply, encodeBatch(batchKinds.answers, buffer.entries));
    } catch (error) {
      // These calls end with their callers' deadlines, as outcome-unknown.
      this.log.warn({ err: error, answers: buffer.entries.length }, 'answers not sent');
    }
  }
}

/** Returns the label of an operation in metrics and spans. Unknown names share one label. */
const labelOf = (handler: OperationHandler | undefined): string => handler?.operation.name ?? 'unknown';

/** Nest's error when a guard denies a call. */
const deniedByGuard = 'Forbidden resource';

/** The deadline of calls from a process that has ended and waits for no answer. */
const expired = Deadline.at(-Infinity);

/** Returns a call's deadline by our clock: at most its budget after it was read, even if the caller's clock is wrong. */
const localDeadline = ({ deadline, budgetMs }: CallMeta, clock: CallerClock, readAt: number): Deadline =>
  Deadline.at(Math.min(deadline + clock.offsetMs, readAt + budgetMs));

/** Returns when the last call of a batch was encoded, by the caller's clock. */
function lastSent(calls: readonly Entry<CallMeta>[]): number {
  let sent = -Infinity;
  for (const { meta } of calls) if (meta.deadline - meta.budgetMs > sent) sent = meta.deadline - meta.budgetMs;
  return sent;
}

function firstDeadline(calls: readonly Entry<CallMeta>[]): number {
  let deadline = Infinity;
  for (const { meta } of calls) if (meta.deadline < deadline) deadline = meta.deadline;
  return deadline;
}

function readCalls(data: Uint8Array): Entry<CallMeta>[] {
  const { kind, entries } = decodeBatch<Partial<CallMeta>>(data);
  if (kind !== batchKinds.calls || entries.length === 0) {
    throw new CodedError('malformed-batch', 'Expected a batch of calls.');
  }
  return entries.map(({ meta, payload }) => {
    checkCallMeta(meta);
    return { meta, payload };
  });
}

function encodeAnswer(id: number, result: unknown): EncodedEntry {
  const { value, meta } = unwrapResponse(result);
  const payload = value instanceof Uint8Array ? value : JSON.stringify(value ?? null);
  const entry = encodeEntry({ id, ...meta }, payload);
  if (entry.length > maxEntryBytes) throw new CodedError('internal', 'The answer is larger than a batch allows.');
  return entry;
}

/** Returns an error for the wire. An error without a code is a defect, whose text is only logged. */
function toWireError(error: unknown): WireError {
  if (error instanceof RpcException && error.message === deniedByGuard) return { code: 'forbidden', message: 'You may not call this operation.' };
  if (!(error instanceof CodedError)) return { code: 'internal', message: 'An internal error occurred.' };
  return { code: error.code, message: error.message, details: error.details };
}
