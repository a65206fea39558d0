import { createHash, createHmac } from 'node:crypto';
import { open, seal } from '../cipher.js';
import { CodedError } from '../errors.js';

/**
 * A client's Idempotency-Key and the request that it was sent with. The database stores the key's hash, an HMAC of the request and
 * the encrypted answer, both under the key: without the key, a reader of the database learns nothing about the request.
 */
export class IdempotencyKey {
  /** Identifies the row. Includes the principal: two principals may use the same key. */
  readonly hash: Buffer;
  /**
   * HMAC of operation and payload: the key may only be repeated with the same request. So every release of the gateway composes the same bytes
   * for it: it adds a member only for what a client sends that older ones cannot; else the service takes `forRequest`.
   */
  readonly fingerprint: Buffer;
  private readonly otherFingerprints: readonly Buffer[];
  private readonly answerKey: Buffer;

  constructor(
    private readonly subject: string,
    private readonly key: string,
    private readonly operation: string,
    payload: Uint8Array,
    alternatives: readonly Uint8Array[] = [],
  ) {
    this.hash = createHash('sha256').update(`${subject}\n${key}`).digest();
    const fingerprintOf = (bytes: Uint8Array): Buffer => createHmac('sha256', key).update(`request\n${operation}\n`).update(bytes).digest();
    this.fingerprint = fingerprintOf(payload);
    this.otherFingerprints = alternatives.map(fingerprintOf);
    this.answerKey = createHmac('sha256', key).update(`answer\n${subject}`).digest();
  }

  /**
   * Returns the same key with a fingerprint of `request` instead of the payload. For a call that completes earlier ones, whose payload
   * holds an id that differs when the whole sequence is repeated.
   * @param alternatives other serialisations under which the answer to the same request may have been saved
   */
  forRequest(request: Uint8Array, alternatives: readonly Uint8Array[] = []): IdempotencyKey {
    return new IdempotencyKey(this.subject, this.key, this.operation, request, alternatives);
  }

  /** The hash as text: equal for the same key of the same principal. */
  get id(): string {
    return this.hash.toString('hex');
  }

  /** The id of an advisory lock: requests with the same key wait for each other, and rarely those of another key with the same 64 bits. */
  get lockId(): string {
    return this.hash.readBigInt64BE(0).toString();
  }

  /** Encrypts an answer under the key. */
  seal(answer: unknown): Buffer {
    return seal(this.answerKey, JSON.stringify(answer), 'last');
  }

  /**
   * Decrypts a saved answer.
   * @throws CodedError `idempotency-key-reused` when the answer was saved for another request
   */
  open(fingerprint: Buffer, sealed: Buffer): unknown {
    if (![this.fingerprint, ...this.otherFingerprints].some((one) => one.equals(fingerprint))) throw keyReused();
    return JSON.parse(open(this.answerKey, sealed, 'last'));
  }
}

const keyReused = (): CodedError =>
  new CodedError(
    'idempotency-key-reused',
    'This Idempotency-Key was already used for a different request. Use a new key for each request, and the same key only to repeat it.',
  );
