import { Injectable } from '@nestjs/common';
import { CodedError } from '../errors.js';
import type { Logger } from '../logging.js';
import { Database, type Reader, type Statement, type Transaction } from '../postgres/database.js';
import { Replayed, type ResponseMeta, unwrapResponse } from '../rpc/answer.js';
import { BackgroundLoop } from '../service/background-loop.js';
import { InjectLogger } from '../service/infrastructure.module.js';
import type { IdempotencyKey } from '../rpc/context.js';

// The table `idempotency_keys` is part of each service's own schema (see its migrations), so a saved answer commits together with the
// effect of its request. Refusals are not saved: a repeated request is decided again.

const lifetime = `interval '24 hours'`;

const lock: Statement = {
  name: 'lock-idempotency-keys',
  text: 'SELECT pg_advisory_xact_lock(id) FROM unnest($1::bigint[]) AS id ORDER BY id',
};
const find: Statement = {
  name: 'find-saved-answers',
  text: 'SELECT hash, fingerprint, answer FROM idempotency_keys WHERE hash = ANY($1) AND expires_at > now()',
};
const insert: Statement = {
  name: 'save-answers',
  text: `
    INSERT INTO idempotency_keys (hash, fingerprint, answer, expires_at)
    SELECT hash, fingerprint, answer, now() + ${lifetime}
    FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS t (hash, fingerprint, answer)
    ON CONFLICT (hash) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at`,
};

/** The encrypted content of `idempotency_keys.answer`. */
interface SealedAnswer {
  readonly value: unknown;
  /** The metadata, named as in rows already saved. */
  readonly meta: ResponseMeta;
}

interface SavedRow {
  readonly hash: Buffer;
  readonly fingerprint: Buffer;
  readonly answer: Buffer;
}

/** The saved answers of some keys. */
export class IdempotentResults {
  /** Answers that `write` will save. */
  private readonly unsaved: SavedRow[] = [];

  private constructor(private readonly rows: Map<string, SavedRow>) {}

  /**
   * Locks the keys until the transaction ends and reads their saved answers. Waits for running requests with the same keys, so that
   * their answers are seen. These must be the first locks of a transaction.
   */
  static async lockAndRead(tx: Transaction, keys: readonly IdempotencyKey[]): Promise<IdempotentResults> {
    if (keys.length === 0) return new IdempotentResults(new Map());
    tx.send(lock, [[...new Set(keys.map((key) => key.lockId))]]);
    // A separate statement: the one above may have waited for the locks, and its snapshot is older than that wait.
    return IdempotentResults.read(tx, keys);
  }

  /**
   * Returns the saved answer to an earlier request with this key, without locking. Spares a repeated request work that must not run in a
   * transaction, because it is expensive or a call to another service, and refusals by that work. `runOnce` still decides whether the
   * request takes effect.
   * @throws CodedError `idempotency-key-reused`
   */
  static async peek(database: Reader, key: IdempotencyKey | undefined): Promise<Replayed | undefined> {
    return key && (await IdempotentResults.read(database, [key])).of(key);
  }

  /**
   * Returns the answer to an earlier request with this key.
   * @throws CodedError `idempotency-key-reused`
   */
  of(key: IdempotencyKey): Replayed | undefined {
    const row = this.rows.get(key.id);
    if (!row) return undefined;
    const { value, meta } = key.open(row.fingerprint, row.answer) as SealedAnswer;
    return new Replayed(value, meta);
  }

  /**
   * Returns the saved answer to one request of a batch, or else runs `work` and adds its answer, also for later requests of the batch
   * with the same key. Without a key, runs `work` and adds nothing. `write` saves the answers.
   * @param work throws a CodedError to refuse the request; refusals are not saved
   * @returns the answer, or the refusal (also `idempotency-key-reused`) instead of throwing it, since it affects no other request
   */
  answerOnce<T extends object>(key: IdempotencyKey | undefined, work: () => T): T | Replayed | CodedError {
    try {
      const repeated = key && this.of(key);
      if (repeated) return repeated;
      const answer = work();
      if (key) this.add(key, answer);
      return answer;
    } catch (error) {
      if (error instanceof CodedError) return error;
      throw error;
    }
  }

  /** Adds an answer, for later requests with the same key. */
  add(key: IdempotencyKey, answer: unknown): void {
    const { value, meta } = unwrapResponse(answer);
    const sealed: SealedAnswer = { value, meta };
    const row = { hash: key.hash, fingerprint: key.fingerprint, answer: key.seal(sealed) };
    this.rows.set(key.id, row);
    this.unsaved.push(row);
  }

  /** Saves the answers of `answerOnce` and `add`, in the transaction of their effects. */
  write(tx: Transaction): void {
    if (this.unsaved.length === 0) return;
    tx.send(insert, [
      this.unsaved.map((row) => row.hash),
      this.unsaved.map((row) => row.fingerprint),
      this.unsaved.map((row) => row.answer),
    ]);
  }

  private static async read(reader: Reader, keys: readonly IdempotencyKey[]): Promise<IdempotentResults> {
    const rows = await reader.query<SavedRow>(find, [keys.map((key) => key.hash)]);
    return new IdempotentResults(new Map(rows.map((row) => [row.hash.toString('hex'), row])));
  }
}

/**
 * Runs `work` once per key: a repeated request gets the saved answer. Without a key, runs `work` and saves nothing. Take no lock before
 * it in the transaction. Refuse nothing before it that depends on changing state: a repeated request must get its answer (`peek`).
 * @param work throws a refusal, which rolls the transaction back and is not saved
 * @throws CodedError `idempotency-key-reused`
 */
export async function runOnce<T extends object>(
  tx: Transaction,
  key: IdempotencyKey | undefined,
  work: () => Promise<T>,
): Promise<T | Replayed> {
  if (!key) return work();
  const answers = await IdempotentResults.lockAndRead(tx, [key]);
  const repeated = answers.of(key);
  if (repeated) return repeated;
  const answer = await work();
  answers.add(key, answer);
  answers.write(tx);
  return answer;
}

/** Deletes at most `limit` expired rows. @returns the number of deleted rows */
function sweepIdempotentResults(tx: Transaction, limit: number): Promise<number> {
  return tx.execute(
    `DELETE FROM idempotency_keys WHERE hash IN (
       SELECT hash FROM idempotency_keys WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
}

const batch = 1_000;

/** Deletes expired saved answers. Every service that saves answers provides it. */
@Injectable()
export class IdempotentResultsSweeper extends BackgroundLoop {
  constructor(database: Database, @InjectLogger() logger: Logger) {
    super(
      { name: 'sweep saved answers', intervalMs: 60_000 },
      async () => (await database.transaction((tx) => sweepIdempotentResults(tx, batch))) === batch,
      logger,
    );
  }
}
