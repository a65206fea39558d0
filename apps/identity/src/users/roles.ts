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
  /** The user with the new role. */
  readonly user: UserRecord;
}

/**
 * Sets the role of a user. Sessions, keys and clients continue with the new role's permissions; caches learn of the change
 * from the revocation log.
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
