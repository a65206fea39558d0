import type { Transaction } from './database.js';
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

async function nextOf(tx: Transaction, sequence: string): Promise<number> {
  const rows = await tx.query<{ next: number }>(`SELECT last_value + is_called::integer AS next FROM ${sequence}`);
  return onlyRow(rows).next;
}
