import type { Transaction } from '@plant-shop/platform/postgres/database';

export interface FailureCount {
  /** Hash of the name or network; the column `subject`. */
  readonly hash: Buffer;
  /** Failures in the window, including this attempt. */
  readonly failures: number;
  /** Also identifies the window. */
  readonly windowEndsAt: Date;
  readonly secondsLeft: number;
}

/** Counts one failed attempt for each hash, until it is undone. Sorts the hashes, so that attempts cannot deadlock. */
export function countAttempt(tx: Transaction, hashes: readonly Buffer[]): Promise<FailureCount[]> {
  return tx.query<FailureCount>(
    {
      name: 'count-login-attempt',
      text: `
        INSERT INTO login_failures AS f (subject, failures, window_ends_at)
        SELECT s, 1, date_trunc('milliseconds', now() + interval '15 minutes') FROM unnest($1::bytea[]) AS s ORDER BY s
        ON CONFLICT (subject) DO UPDATE SET
          failures = CASE WHEN f.window_ends_at <= now() THEN 1 ELSE f.failures + 1 END,
          window_ends_at = CASE WHEN f.window_ends_at <= now() THEN excluded.window_ends_at ELSE f.window_ends_at END
        RETURNING subject AS hash, failures, window_ends_at AS "windowEndsAt",
          ceil(extract(epoch FROM window_ends_at - now()))::integer AS "secondsLeft"`,
    },
    [hashes],
  );
}

/** Removes a successful attempt from the counts. Leaves a new window alone if the attempt's window has ended. */
export async function undoAttempt(tx: Transaction, attempts: readonly FailureCount[]): Promise<void> {
  await tx.execute(
    {
      name: 'take-back-login-attempt',
      text: `
        WITH counted AS MATERIALIZED (
          SELECT f.subject FROM login_failures f
          JOIN unnest($1::bytea[], $2::timestamptz[]) AS t (subject, window_ends_at) USING (subject, window_ends_at)
          ORDER BY f.subject FOR UPDATE OF f)
        UPDATE login_failures f SET failures = f.failures - 1 FROM counted WHERE counted.subject = f.subject`,
    },
    [attempts.map((one) => one.hash), attempts.map((one) => one.windowEndsAt)],
  );
}

export function deleteOldFailures(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM login_failures WHERE window_ends_at < now()');
}
