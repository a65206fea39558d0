import type { Transaction } from './database.js';
import { onlyRow } from './rows.js';

// Only the owner may alter a sequence, so the two functions `hold_sequence` and `restart_sequence` are part of the schema of
// each service that raises some (see their migrations).

/** A sequence that must draw nothing that is known elsewhere. */
export interface SequenceToRaise {
  /** Its name, as it stands in a migration. */
  readonly sequence: string;
  /** The highest number of it that is known. */
  readonly known: number;
  /** How far beyond it goes on, if it has to be raised at all: for numbers that were drawn and are known to nobody here. */
  readonly margin: number;
}

export interface RaisedSequence {
  readonly sequence: string;
  /** What it would have drawn next. */
  readonly from: number;
  /** What it draws next. */
  readonly to: number;
}

/**
 * Raises a sequence that would draw a number that is known. Nobody draws from it until the transaction ends: between a
 * look and `setval`, others could draw beyond what it is set to, and get the same numbers again.
 * @returns undefined when it is beyond all that is known
 */
export async function raiseSequence(
  tx: Transaction,
  wanted: SequenceToRaise,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<RaisedSequence | undefined> {
  const { sequence, known, margin } = wanted;
  if ((await nextOf(tx, sequence)) > known) return undefined;
  // Changes nothing, and waits for all that drew from it and have not committed yet.
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
