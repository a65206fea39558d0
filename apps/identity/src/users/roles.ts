import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import type { Role } from '@plant-shop/contracts/permissions';
import { type Actor, audit } from '@plant-shop/platform/audit/audit-log';
import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { assertVersion, userNotFound, type UserRecord } from './user.js';
import { findUser, hasOtherAdmin, lockAdmins, lockUser, setRole } from './users.repository.js';

export interface RoleChange {
  readonly before: Role;
  /** With the role that was given. */
  readonly user: UserRecord;
}

/**
 * Gives a user a role. Sessions, keys and clients go on, with what the role permits now: whoever keeps answers about
 * them learns of it from the log.
 * @throws DomainError `user-not-found`, `precondition-failed`, `last-admin`
 */
export function changeRole(
  database: Database,
  actor: Actor,
  { username, role, ifVersion }: { readonly username: string; readonly role: Role; readonly ifVersion?: number | undefined },
): Promise<RoleChange> {
  return database.transaction(async (tx) => {
    const found = await findUser(tx, username);
    const user = found && (await lockUser(tx, found.userId));
    if (!user) throw userNotFound();
    assertVersion(user, ifVersion);
    if (user.role === role) return { before: role, user };
    await assertNotLastAdmin(tx, user);
    const changed = await setRole(tx, user.userId, role);
    await appendRevocations(tx, [{ kind: 'userChanged', id: user.userId }]);
    audit(tx, actor, identity.setUserRole, `${user.userId}: ${user.role} to ${role}`);
    return { before: user.role, user: changed };
  });
}

/**
 * Called before an admin gets another role or is noted for deletion, in that transaction, which holds the user's row. Admins
 * who are noted for deletion count no more: any replica may carry the deletion on.
 * @throws DomainError `last-admin`
 */
export async function assertNotLastAdmin(tx: Transaction, { userId, role }: Pick<UserRecord, 'userId' | 'role'>): Promise<void> {
  if (role !== 'admin') return;
  await lockAdmins(tx);
  if (await hasOtherAdmin(tx, userId)) return;
  throw new DomainError('last-admin', 'This is the last admin. Give another user the role admin first.');
}
