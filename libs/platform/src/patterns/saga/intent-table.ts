import { type Actor, actorOf, audit, operator } from '../audit-log.js';
import { CodedError } from '../../errors.js';
import type { Database, Statement, Transaction } from '../../postgres/database.js';
import { onlyRow } from '../../postgres/rows.js';
import type { RpcContext } from '../../rpc/context.js';

const maxLeaseMs = 30_000;
/** A lease that ends later than any can was taken before the database's clock was set back: it has ended. */
const impossibleLease = `interval '1 minute'`;

/** The end of a lease in SQL: until then background loops leave the row alone. */
const leaseEnd = (milliseconds: string): string => `now() + ${milliseconds} * interval '1 millisecond'`;

/** Returns how long a request leases its intents, in milliseconds: until its caller stops waiting, plus 1 second; at most 30 seconds. */
export const leaseMsOf = ({ deadline }: RpcContext): number => Math.min(deadline.leftMs + 1_000, maxLeaseMs);

/**
 * A table of intents is part of a service's own schema (see its migrations), with names of its own. Beside the columns below it has
 * `tries`, the number of times that a background loop has leased the row, and `asked_by`, the actor that `begin` recorded.
 */
interface IntentColumns {
  readonly table: string;
  /** The table of the resources. Its column `key` is the intents' key, and deleting a resource deletes its intent. */
  readonly owners: string;
  readonly key: string;
  readonly leasedUntil: string;
  /** The number of the latest attempt. NULL: the intent asks for nothing that can be refused. */
  readonly attempt: string;
  /** The sequence of attempts. */
  readonly attempts: string;
  /** The columns of the intent and its owner that `leaseDue` returns. */
  readonly columns: string;
}

/** One attempt at a saga. Numbers only increase, and the latest attempt decides, in both services. */
export interface Attempt<Key> {
  readonly key: Key;
  readonly attempt: number;
  /** This attempt inserted the intent: no earlier one can have had an effect. If this one had none either, it may be withdrawn. */
  readonly isFirst: boolean;
}

/** Records intents without an attempt: they ask for nothing that can be refused. Locks in the order of keys. */
type RecordIntents<Column extends string> = (
  tx: Transaction,
  rows: readonly Readonly<Record<Column, unknown>>[],
  leaseMs: number,
) => void;

/** SQL on a table of intents: its leases, attempts and requesters. */
export class IntentTable<Key extends string | number, Intent extends object> {
  private readonly statements: Readonly<Record<'begin' | 'leaseDue' | 'release' | 'requester' | 'draw', Statement>>;

  constructor(private readonly its: IntentColumns) {
    const { table, owners, key, leasedUntil, attempt, attempts, columns } = its;
    this.statements = {
      // `owner` is materialised, so that the number is drawn after the wait for its lock. The number on conflict is drawn again: while
      // this statement waited for the intent, a loop may have drawn a higher one. `xmax` is 0 in a row that was inserted.
      begin: {
        name: `begin-attempt-${table}`,
        text: `
          WITH owner AS MATERIALIZED (SELECT ${key} FROM ${owners} WHERE ${key} = $1 FOR NO KEY UPDATE)
          INSERT INTO ${table} (${key}, ${attempt}, asked_by, ${leasedUntil})
          SELECT ${key}, nextval('${attempts}'), $2::jsonb, ${leaseEnd('$3')} FROM owner
          ON CONFLICT (${key}) DO UPDATE SET
            ${attempt} = nextval('${attempts}'),
            asked_by = CASE WHEN $4 THEN excluded.asked_by ELSE coalesce(${table}.asked_by, excluded.asked_by) END,
            ${leasedUntil} = excluded.${leasedUntil}
          RETURNING ${key} AS key, ${attempt} AS attempt, xmax = 0 AS "isFirst"`,
      },
      // The lease grows with the tries, from 5 to 30 seconds. It is also the pause before the next try.
      leaseDue: {
        name: `lease-due-${table}`,
        text: `
          WITH due AS MATERIALIZED (
            SELECT ${key} FROM ${table} WHERE ${leasedUntil} <= now() OR ${leasedUntil} > now() + ${impossibleLease} ORDER BY ${leasedUntil} LIMIT $1 FOR UPDATE SKIP LOCKED
          )
          UPDATE ${table} SET
            tries = tries + 1,
            ${leasedUntil} = now() + least(5 * (tries + 1), 30) * interval '1 second',
            ${attempt} = CASE WHEN ${attempt} IS NOT NULL THEN nextval('${attempts}') END
          FROM due, ${owners}
          WHERE ${table}.${key} = due.${key} AND ${owners}.${key} = due.${key}
          RETURNING ${columns}`,
      },
      release: { name: `release-${table}`, text: `UPDATE ${table} SET ${leasedUntil} = now() WHERE ${key} = ANY($1)` },
      requester: { name: `requester-${table}`, text: `SELECT asked_by AS "askedBy" FROM ${table} WHERE ${key} = $1` },
      draw: { name: `draw-${attempts}`, text: `SELECT nextval('${attempts}') AS attempt` },
    };
  }

  /**
   * Records the intent of a request, or takes over a recorded one.
   * @param options.replacesRequester whether `requester` replaces the actor of a recorded intent
   * @returns undefined if the resource no longer exists
   */
  async begin(
    tx: Transaction,
    key: Key,
    requester: Actor,
    leaseMs: number,
    { replacesRequester = true }: { readonly replacesRequester?: boolean } = {},
  ): Promise<Attempt<Key> | undefined> {
    const [attempt] = await tx.query<Attempt<Key>>(this.statements.begin, [key, JSON.stringify(requester), leaseMs, replacesRequester]);
    return attempt;
  }

  /**
   * Returns a function that records intents without an attempt, one row each: the key, and what the intent asks for. If a resource has
   * an intent already, these columns replace its own and the others stay. Its lease is not shortened, and that of an attempt is not
   * prolonged either: frequent records would postpone the attempt.
   * @param types the columns of a row, with their types in SQL
   */
  recorderOf<Column extends string>(types: Readonly<Record<Column, string>>): RecordIntents<Column> {
    const { table, key, leasedUntil, attempt } = this.its;
    const columns = Object.keys(types) as Column[];
    const asked = columns.filter((column) => column !== key);
    const statement = {
      name: `record-${table}-${asked.join('-')}`,
      text: `
        INSERT INTO ${table} (${columns.join(', ')}, ${leasedUntil})
        SELECT ${columns.join(', ')}, ${leaseEnd('$1')}
        FROM unnest(${columns.map((column, n) => `$${n + 2}::${types[column]}[]`).join(', ')}) AS t (${columns.join(', ')}) ORDER BY ${key}
        ON CONFLICT (${key}) DO UPDATE SET
          ${asked.map((column) => `${column} = excluded.${column}`).join(', ')},
          ${leasedUntil} = CASE
            WHEN ${table}.${attempt} IS NULL THEN greatest(${table}.${leasedUntil}, excluded.${leasedUntil})
            ELSE ${table}.${leasedUntil}
          END`,
    };
    return (tx, rows, leaseMs) => {
      if (rows.length > 0) tx.send(statement, [leaseMs, ...columns.map((column) => rows.map((row) => row[column]))]);
    };
  }

  /** Draws an attempt for a resource that does not exist here, so that no intent can be recorded, and audits it. */
  drawAttempt(database: Database, context: RpcContext, operation: { readonly pattern: string }, key: string | number): Promise<number> {
    return database.transaction(async (tx) => {
      audit(tx, actorOf(context), operation, key);
      return onlyRow(await tx.query<{ attempt: number }>(this.statements.draw)).attempt;
    });
  }

  /** Leases at most `limit` due intents for at least 5 seconds, as new attempts. Two replicas never lease the same one. */
  leaseDue(database: Database, limit: number): Promise<Intent[]> {
    return database.query<Intent>(this.statements.leaseDue, [limit]);
  }

  /** Ends leases early, so that a background loop takes the intents at its next run. */
  async release(tx: Transaction, keys: readonly Key[]): Promise<void> {
    await tx.execute(this.statements.release, [keys]);
  }

  /** Returns the recorded actor (`asked_by`). Call it before the resource is deleted, which deletes the intent too. */
  async requesterOf(tx: Transaction, key: Key): Promise<Actor> {
    const [intent] = await tx.query<{ askedBy: Actor | null }>(this.statements.requester, [key]);
    return intent?.askedBy ?? operator('unknown');
  }
}

/**
 * Rejects abandoned attempts, in the service that may refuse (`Saga.ask`): an attempt that its caller no longer waits for must not take
 * effect once the reason for the refusal is gone. Call it with the resource locked, before deciding, and record the number of each
 * attempt that is refused.
 * @param latestRefused number of the latest attempt that was refused; 0: none
 * @throws CodedError `unavailable` when the attempt's deadline has passed, or it is older than the latest that was refused
 */
export function assertNotAbandoned({ deadline }: RpcContext, attempt: number, latestRefused: number): void {
  if (deadline.isPast) throw new CodedError('unavailable', 'The caller no longer waits for this attempt. Nothing happened; try again.');
  if (attempt < latestRefused) throw new CodedError('unavailable', 'A later attempt was refused. Nothing happened; try again.');
}
