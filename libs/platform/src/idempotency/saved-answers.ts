import { CodedError } from '../errors.js';
import type { Statement, Transaction } from '../postgres/database.js';
import { type ResponseMeta, unwrapResponse, Replayed } from '../rpc/answer.js';
import type { IdempotencyKey } from './idempotency-key.js';

// The table `idempotency_keys` is part of each service's own schema (see its migrations): a row commits with the effect
// that it stands for, or not at all. Refusals are not saved; they are judged anew.

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

interface SavedRow {
  readonly hash: Buffer;
  readonly fingerprint: Buffer;
  readonly answer: Buffer;
}

/** What is saved under some keys, all of which this transaction holds from now on. */
export class SavedAnswers {
  private readonly given: SavedRow[] = [];

  private constructor(private readonly rows: Map<string, SavedRow>) {}

  /** Waits for twins that are under way: what they did is seen, or they did nothing. The first locks of a transaction. */
  static async lock(tx: Transaction, keys: readonly IdempotencyKey[]): Promise<SavedAnswers> {
    if (keys.length === 0) return new SavedAnswers(new Map());
    tx.send(lock, [[...new Set(keys.map((key) => key.lockId))]]);
    // A new statement: the one above may have waited, and its snapshot is older than its wait.
    return SavedAnswers.read(tx, keys);
  }

  /**
   * What is saved at this moment, without waiting for twins: so that work that is dear and belongs in no transaction is not
   * done for a request that is only repeated. What then takes effect, `once` decides.
   */
  static async peek(database: Pick<Transaction, 'query'>, keys: readonly IdempotencyKey[]): Promise<SavedAnswers> {
    if (keys.length === 0) return new SavedAnswers(new Map());
    return SavedAnswers.read(database, keys);
  }

  /**
   * The answer that an earlier request with this key got.
   * @throws CodedError `idempotency-key-reused`
   */
  of(key: IdempotencyKey): Replayed | undefined {
    const row = this.rows.get(key.id);
    if (!row) return undefined;
    const { value, facts } = key.open(row.fingerprint, row.answer) as { value: unknown; facts: ResponseMeta };
    return new Replayed(value, facts);
  }

  /**
   * `once` for one request of a batch, whose requests are decided one after the other: `write` saves what is answered here, and
   * later requests of the batch with the same key get it.
   * @param work throws a CodedError to refuse the request; refusals are not saved
   * @returns refusals, those of the key included, instead of throwing them: they concern no other request of the batch
   */
  settle<T extends object>(key: IdempotencyKey | undefined, work: () => T): T | Replayed | CodedError {
    try {
      const repeated = key && this.of(key);
      if (repeated) return repeated;
      const answer = work();
      if (key) this.keep(key, answer);
      return answer;
    } catch (error) {
      if (error instanceof CodedError) return error;
      throw error;
    }
  }

  /** Saves what `settle` and `keep` were given, in the transaction of its effects. */
  write(tx: Transaction): void {
    if (this.given.length === 0) return;
    tx.send(insert, [
      this.given.map((row) => row.hash),
      this.given.map((row) => row.fingerprint),
      this.given.map((row) => row.answer),
    ]);
  }

  /** Keeps the answer for later requests with the same key. */
  keep(key: IdempotencyKey, answer: unknown): void {
    const { value, meta: facts } = unwrapResponse(answer);
    const row = { hash: key.hash, fingerprint: key.fingerprint, answer: key.seal({ value, facts }) };
    this.rows.set(key.id, row);
    this.given.push(row);
  }

  private static async read(reader: Pick<Transaction, 'query'>, keys: readonly IdempotencyKey[]): Promise<SavedAnswers> {
    const rows = await reader.query<SavedRow>(find, [keys.map((key) => key.hash)]);
    return new SavedAnswers(new Map(rows.map((row) => [row.hash.toString('hex'), row])));
  }
}

/**
 * Does `work` once for a key, however often it is asked for: a repeated request gets the saved answer. Without a key it is
 * just done. Call it first in a transaction.
 * @throws CodedError `idempotency-key-reused`
 */
export async function runOnce<T extends object>(
  tx: Transaction,
  key: IdempotencyKey | undefined,
  work: () => Promise<T>,
): Promise<T | Replayed> {
  if (!key) return work();
  const answers = await SavedAnswers.lock(tx, [key]);
  const repeated = answers.of(key);
  if (repeated) return repeated;
  const answer = await work();
  // A refusal that `work` returns, so that something else commits, is not saved either.
  if (answer instanceof CodedError) return answer;
  answers.keep(key, answer);
  answers.write(tx);
  return answer;
}

/** Deletes at most `limit` rows that are past their time; answers how many. */
export function sweepSavedAnswers(tx: Transaction, limit: number): Promise<number> {
  return tx.execute(
    `DELETE FROM idempotency_keys WHERE hash IN (
       SELECT hash FROM idempotency_keys WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
}
