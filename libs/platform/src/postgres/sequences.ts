import { actorOf, audit } from '../patterns/audit-log.js';
import type { Logger } from '../logging.js';
import type { RpcContext } from '../rpc/context.js';
import type { Database, Transaction } from './database.js';
import { onlyRow } from './rows.js';

// Only a sequence's owner may alter it, and a service does not own its tables. The functions `hold_sequence` and
// `restart_sequence` are therefore part of the schema of each service that raises sequences (see the migrations).

/** A sequence that must not draw numbers that other services know, for example after its database was restored from a backup. */
export interface SequenceToRaise {
  /** Its name in the migration. */
  readonly sequence: string;
  /** The highest number known to be in use. */
  readonly known: number;
  /** How many numbers to skip above `known` if the sequence has to be raised, for numbers that were drawn but are unknown here. */
  readonly margin: number;
}

export interface RaisedSequence {
  readonly sequence: string;
  /** The next number before raising. */
  readonly from: number;
  /** The next number after raising. */
  readonly to: number;
}

/**
 * Raises a sequence whose next number is not above `known`. Holds the sequence until the transaction ends: between a
 * read and `setval`, other sessions could draw numbers above the new value, which would then be drawn twice.
 * @returns undefined when the sequence is already above `known`
 */
export async function raiseSequence(
  tx: Transaction,
  wanted: SequenceToRaise,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<RaisedSequence | undefined> {
  const { sequence, known, margin } = wanted;
  if ((await nextOf(tx, sequence)) > known) return undefined;
  // Changes nothing, but waits for all transactions that drew from the sequence and have not committed yet.
  if (!dryRun) await tx.query('SELECT hold_sequence($1)', [sequence]);
  const from = await nextOf(tx, sequence);
  if (from > known) return undefined;
  const to = known + margin + 1;
  if (!dryRun) await tx.query('SELECT restart_sequence($1, $2)', [sequence, to]);
  return { sequence, from, to };
}

/** `raiseSequence` for several sequences, each in its own transaction, with an audit entry for each that it raises. */
export async function raiseSequences(
  database: Database,
  context: RpcContext,
  operation: { readonly pattern: string },
  wanted: readonly SequenceToRaise[],
  { dryRun, logger }: { readonly dryRun: boolean; readonly logger: Logger },
): Promise<RaisedSequence[]> {
  const raised: RaisedSequence[] = [];
  for (const one of wanted) {
    const result = await database.transaction(async (tx) => {
      const raising = await raiseSequence(tx, one, { dryRun });
      if (raising && !dryRun) audit(tx, actorOf(context), operation, one.sequence);
      return raising;
    });
    if (result) raised.push(result);
  }
  if (raised.length > 0) logger.info({ raised, dryRun }, dryRun ? 'sequences are behind another service' : 'raised sequences that were behind another service');
  return raised;
}

async function nextOf(tx: Transaction, sequence: string): Promise<number> {
  const rows = await tx.query<{ next: number }>(`SELECT last_value + is_called::integer AS next FROM ${sequence}`);
  return onlyRow(rows).next;
}

/** Upper bound of one draw: a larger statement would run noticeably long. */
const maxDrawn = 16_384;

/**
 * Draws ids from a sequence until at least `count` of them are free. Clients may also choose ids, so a long run of the next ids
 * may be taken. Each draw is twice as large as the last: a run of n taken ids costs log n round trips.
 * @param blockSize number of ids per sequence value
 * @param drawFree draws the given number of sequence values and returns the ids that are free
 */
export async function drawFreeIds(
  { count, blockSize = 1 }: { readonly count: number; readonly blockSize?: number },
  drawFree: (values: number) => Promise<readonly number[]>,
): Promise<number[]> {
  const ids: number[] = [];
  for (let values = Math.ceil(count / blockSize); ids.length < count; values = Math.min(values * 2, maxDrawn / blockSize)) {
    ids.push(...(await drawFree(Math.ceil(values))));
  }
  return ids;
}
