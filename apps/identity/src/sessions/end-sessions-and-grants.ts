import type { Transaction } from '@plant-shop/platform/postgres/database';
import { deletePayloadsOfUser } from '../grants/payloads.repository.js';
import type { RevocationTarget } from '../revocations/revocations.repository.js';
import { endSessionsOf } from './sessions.repository.js';

/**
 * Ends all sessions of a user except one, then all grants to applications. `BrowserSessions.isStillLive` relies on this
 * order.
 * @returns revocations to append at the end of the transaction
 */
export async function endSessionsAndGrants(
  tx: Transaction,
  userId: string,
  keptTokenHash: Buffer | undefined,
): Promise<RevocationTarget[]> {
  const sessions = await endSessionsOf(tx, userId, keptTokenHash);
  const grants = await deletePayloadsOfUser(tx, userId);
  return [
    ...sessions.map((id) => ({ kind: 'session', id }) as const),
    ...grants.map((id) => ({ kind: 'grant', id }) as const),
  ];
}
