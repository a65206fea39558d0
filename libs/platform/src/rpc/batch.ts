import { CodedError, type ErrorDetails } from '../errors.js';
import type { ResponseMeta } from './answer.js';
import type { OtherCredential, Principal } from './context.js';

// The wire format, documented for other languages in libs/contracts/README.md. All integers are big-endian.
//
//   batch  = "RP" version:u8 kind:u8 count:u32 entry{count}
//   entry  = metaLength:u32 payloadLength:u32 meta:UTF-8 JSON payload:UTF-8 JSON
//
// A reader ignores unknown members of `meta`, which keeps adjacent releases compatible.

const batchVersion = 1;
const magic = 0x52_50;
const headerLength = 8;
const entryHeaderLength = 8;

/** NATS carries 1 MiB per message; the rest is for its headers and the batch's. */
export const maxEntryBytes = 900 * 1024;

export const batchKinds = { calls: 1, answers: 2, refusal: 3, clockRequest: 4, clockReading: 5 } as const;
export type BatchKind = (typeof batchKinds)[keyof typeof batchKinds];

/** Metadata of one call. */
export interface CallMeta {
  /** Chosen by the caller, unique in its process. The answer repeats it. */
  readonly id: number;
  readonly op: string;
  readonly request: string;
  readonly traceparent?: string;
  readonly principal?: Principal;
  /** The client's Idempotency-Key, for the service that handles the call. */
  readonly idempotencyKey?: string;
  /** Milliseconds left when the call was sent. */
  readonly budgetMs: number;
  /** The deadline by the caller's process clock (context.ts). */
  readonly deadline: number;
}

/** A caller's reply to a clock request. */
export interface ClockReading {
  /** Its process clock in milliseconds, the one that its deadlines refer to. */
  readonly clock: number;
  /** Its host's time of day in milliseconds since the epoch. Only for comparing hosts, never for deadlines. */
  readonly wall: number;
}

export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly details?: ErrorDetails;
}

/** Metadata of one answer. `id` is absent in a refusal, which answers a whole batch. */
export interface AnswerMeta extends ResponseMeta {
  readonly id?: number;
  readonly error?: WireError;
}

export interface Entry<Meta> {
  readonly meta: Meta;
  readonly payload: Buffer;
}

/** An entry whose metadata is already serialised, so that its size is known before it is added to a batch. */
export interface EncodedEntry {
  readonly meta: string;
  /** JSON as text or as UTF-8. */
  readonly payload: string | Uint8Array;
  /** Bytes of the whole entry, and of its parts. */
  readonly length: number;
  readonly metaLength: number;
  readonly payloadLength: number;
}

/** The JSON of principals. Most are the same object in each request of their credential. */
const principals = new WeakMap<Principal, string>();

function principalJson(principal: Principal): string {
  const known = principals.get(principal);
  if (known !== undefined) return known;
  const json = JSON.stringify(principal);
  principals.set(principal, json);
  return json;
}

/** @param principal that of a call, if it has one */
export function encodeEntry(meta: Omit<CallMeta, 'principal'> | AnswerMeta | ClockReading, payload: string | Uint8Array = '', principal?: Principal): EncodedEntry {
  const members = JSON.stringify(meta);
  const text = principal ? `${members.slice(0, -1)},"principal":${principalJson(principal)}}` : members;
  const metaLength = Buffer.byteLength(text);
  const payloadLength = Buffer.byteLength(payload);
  return { meta: text, payload, length: entryHeaderLength + metaLength + payloadLength, metaLength, payloadLength };
}

export function encodeBatch(kind: BatchKind, entries: readonly EncodedEntry[]): Buffer {
  const length = entries.reduce((sum, entry) => sum + entry.length, headerLength);
  const batch = Buffer.allocUnsafe(length);
  batch.writeUInt16BE(magic, 0);
  batch.writeUInt8(batchVersion, 2);
  batch.writeUInt8(kind, 3);
  batch.writeUInt32BE(entries.length, 4);
  let at = headerLength;
  for (const { meta, payload, metaLength, payloadLength } of entries) {
    batch.writeUInt32BE(metaLength, at);
    batch.writeUInt32BE(payloadLength, at + 4);
    at += entryHeaderLength;
    batch.write(meta, at);
    at += metaLength;
    if (typeof payload === 'string') batch.write(payload, at);
    else batch.set(payload, at);
    at += payloadLength;
  }
  return batch;
}

const malformed = (why: string): CodedError => new CodedError('malformed-batch', `The batch is malformed: ${why}.`);

/** @throws CodedError `malformed-batch` unless the data is exactly one batch of this version */
export function decodeBatch<Meta>(data: Uint8Array): { kind: number; entries: Entry<Meta>[] } {
  const batch = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (batch.length < headerLength) throw malformed('it is shorter than its header');
  if (batch.readUInt16BE(0) !== magic) throw malformed('it does not begin with RP');
  const version = batch.readUInt8(2);
  if (version !== batchVersion) throw malformed(`its version is ${version}, expected ${batchVersion}`);
  const count = batch.readUInt32BE(4);
  const entries: Entry<Meta>[] = [];
  let at = headerLength;
  for (let n = 0; n < count; n++) {
    if (at + entryHeaderLength > batch.length) throw malformed(`entry ${n} is cut off`);
    const metaEnd = at + entryHeaderLength + batch.readUInt32BE(at);
    const payloadEnd = metaEnd + batch.readUInt32BE(at + 4);
    if (payloadEnd > batch.length) throw malformed(`entry ${n} is cut off`);
    entries.push({
      meta: parseMeta(batch.toString('utf8', at + entryHeaderLength, metaEnd), n) as Meta,
      payload: batch.subarray(metaEnd, payloadEnd),
    });
    at = payloadEnd;
  }
  if (at !== batch.length) throw malformed('bytes follow its last entry');
  return { kind: batch.readUInt8(3), entries };
}

function parseMeta(text: string, n: number): object {
  try {
    const meta: unknown = JSON.parse(text);
    if (typeof meta === 'object' && meta !== null && !Array.isArray(meta)) return meta;
  } catch {
    // Refused below, like JSON metadata that is not an object.
  }
  throw malformed(`the metadata of entry ${n} is not a JSON object`);
}

const isListOfTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === 'string');

function isPrincipal(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { subject, permissions, shown, shownIds = [], otherCredentials = [] } = value as Partial<Principal>;
  return typeof subject === 'string' && isListOfTexts(permissions) && isListOfTexts(shown) && isListOfTexts(shownIds) && Array.isArray(otherCredentials) && otherCredentials.every(isOther);
}

function isOther(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, id, subject } = value as Partial<OtherCredential>;
  return [kind, id, subject].every((one) => typeof one === 'string');
}

/** @throws CodedError `malformed-batch` when a required member is missing, or a member has the wrong type */
export function checkCallMeta(meta: Partial<CallMeta>): asserts meta is CallMeta {
  if (
    !Number.isSafeInteger(meta.id) ||
    typeof meta.op !== 'string' ||
    typeof meta.request !== 'string' ||
    !Number.isFinite(meta.budgetMs) ||
    !Number.isFinite(meta.deadline)
  ) {
    throw malformed('a call needs id, op, request, budgetMs and deadline');
  }
  for (const name of ['traceparent', 'idempotencyKey'] as const) {
    if (meta[name] !== undefined && typeof meta[name] !== 'string') throw malformed(`${name} is not text`);
  }
  if (meta.principal !== undefined && !isPrincipal(meta.principal)) {
    throw malformed('a principal needs subject, permissions and shown');
  }
}

/** @throws CodedError `malformed-batch` when a member has the wrong type */
export function checkAnswerMeta(meta: Partial<AnswerMeta>): asserts meta is AnswerMeta {
  const { id, version, next, stamp, error } = meta;
  if (id !== undefined && !Number.isSafeInteger(id)) throw malformed('the id of an answer is not an integer');
  if (version !== undefined && !Number.isSafeInteger(version)) throw malformed('the version of an answer is not an integer');
  if (next !== undefined && typeof next !== 'string') throw malformed('the cursor of an answer is not text');
  if (stamp !== undefined && typeof stamp !== 'string') throw malformed('the stamp of an answer is not text');
  if (error !== undefined && !isWireError(error)) throw malformed('an error needs code and message');
}

/** @throws CodedError `malformed-batch` when a reading is missing or not a number */
export function checkClockReading(meta: Partial<ClockReading>): asserts meta is ClockReading {
  if (!Number.isFinite(meta.clock) || !Number.isFinite(meta.wall)) throw malformed('a clock reading needs clock and wall');
}

function isWireError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { code, message, details } = value as Partial<WireError>;
  return typeof code === 'string' && typeof message === 'string' && (details === undefined || typeof details === 'object');
}
