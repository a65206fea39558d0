import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { CodedError } from '../errors.js';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * A client's Idempotency-Key together with what it was sent for. Nothing of it that is stored can be read without the key
 * itself: its hash, a fingerprint of the request keyed by it, and the answer encrypted under it.
 */
export class IdempotencyKey {
  /** What the row is found by: the same key of another principal is another. */
  readonly hash: Buffer;
  /** Operation and payload: the key may not be used for anything else. */
  readonly fingerprint: Buffer;
  private readonly otherFingerprints: readonly Buffer[];
  private readonly answerKey: Buffer;

  constructor(
    private readonly subject: string,
    private readonly key: string,
    private readonly operation: string,
    payload: Uint8Array,
    sameIn: readonly Uint8Array[] = [],
  ) {
    this.hash = createHash('sha256').update(`${subject}\n${key}`).digest();
    const fingerprintOf = (bytes: Uint8Array): Buffer => createHmac('sha256', key).update(`request\n${operation}\n`).update(bytes).digest();
    this.fingerprint = fingerprintOf(payload);
    this.otherFingerprints = sameIn.map(fingerprintOf);
    this.answerKey = createHmac('sha256', key).update(`answer\n${subject}`).digest();
  }

  /**
   * The same key, standing for a request that its payload does not tell: one that ends what earlier calls began names them
   * by an id, which is another one when the whole is repeated. `request` holds what has to be the same then.
   * @param sameIn what else may have been said for the same request when it was answered
   */
  forRequest(request: Uint8Array, sameIn: readonly Uint8Array[] = []): IdempotencyKey {
    return new IdempotencyKey(this.subject, this.key, this.operation, request, sameIn);
  }

  /** The hash as text: equal for the same key of the same principal. */
  get id(): string {
    return this.hash.toString('hex');
  }

  /** For an advisory lock: twins wait for each other, and now and then a stranger with the same 64 bits. */
  get lockId(): string {
    return this.hash.readBigInt64BE(0).toString();
  }

  seal(answer: unknown): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.answerKey, nonce);
    return Buffer.concat([nonce, cipher.update(JSON.stringify(answer)), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws CodedError `idempotency-key-reused` when the row was written for another request */
  open(fingerprint: Buffer, sealed: Buffer): unknown {
    if (![this.fingerprint, ...this.otherFingerprints].some((one) => one.equals(fingerprint))) throw keyReused();
    const decipher = createDecipheriv(algorithm, this.answerKey, sealed.subarray(0, nonceBytes));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return JSON.parse(
      Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString(),
    );
  }
}

const keyReused = (): CodedError =>
  new CodedError(
    'idempotency-key-reused',
    'This Idempotency-Key was used for another request. Use a new key for each request, and the same only to repeat it.',
  );
