import type { Transaction } from '@plant-shop/platform/postgres/database';
import { deletePayloadsOfUser } from '../oauth/payloads.repository.js';
import type { Revoked } from '../revocations/revocations.repository.js';
import { endSessionsOf } from './sessions.repository.js';

/**
 * Ends a user's sessions but one, and what the user granted to applications; in this order, see
 * `BrowserLogins.isStillLive`.
 * @returns what the log must tell, at the end of the transaction
 */
export async function endLogins(
  tx: Transaction,
  userId: string,
  keptTokenHash: Buffer | undefined,
): Promise<Revoked[]> {
  const sessions = await endSessionsOf(tx, userId, keptTokenHash);
  const grants = await deletePayloadsOfUser(tx, userId);
  return [
    ...sessions.map((id) => ({ kind: 'session', id }) as const),
    ...grants.map((id) => ({ kind: 'grant', id }) as const),
  ];
}
