import { DomainError } from '@plant-shop/contracts/errors';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { UserRecord } from './user.js';
import { hasOtherAdmin, lockAdmins } from './users.repository.js';

/**
 * Checks that another admin remains. Call it before an admin is demoted or a deletion is recorded, in that transaction, which
 * must hold the user's row. Admins with a recorded deletion do not count: any replica may complete it.
 * @throws DomainError `last-admin`
 */
export async function assertNotLastAdmin(tx: Transaction, { userId, role }: Pick<UserRecord, 'userId' | 'role'>): Promise<void> {
  if (role !== 'admin') return;
  await lockAdmins(tx);
  if (await hasOtherAdmin(tx, userId)) return;
  throw new DomainError('last-admin', 'This is the last admin. Make another user an admin first.');
}
