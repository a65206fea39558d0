import type { Encrypted } from '@plant-shop/platform/cipher';
import type { Transaction } from '@plant-shop/platform/postgres/database';

export function insertRecoveryRequest(tx: Transaction, { bytes, keyId }: Encrypted): void {
  tx.send({ name: 'insert-recovery-request', text: 'INSERT INTO recovery_requests (asked, key_id) VALUES ($1, $2)' }, [bytes, keyId]);
}

/**
 * Deletes the oldest requests that no other replica is handling.
 * @returns what they asked, encrypted, and whether they are younger than these minutes
 */
export function takeRecoveryRequests(tx: Transaction, limit: number, minutes: number): Promise<{ asked: Buffer; isInTime: boolean }[]> {
  return tx.query(
    {
      name: 'take-recovery-requests',
      text: `DELETE FROM recovery_requests
             WHERE id IN (SELECT id FROM recovery_requests ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING asked, requested_at > now() - $2 * interval '1 minute' AS "isInTime"`,
    },
    [limit, minutes],
  );
}
