import type { Role } from '@plant-shop/contracts/permissions';
import { type Actor, audit } from '@plant-shop/platform/audit/audit-log';
import type { Database } from '@plant-shop/platform/postgres/database';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { userNotFound } from './user.js';
import { findUser, lockUser, setRole } from './users.repository.js';

export interface RoleChange {
  readonly userId: string;
  readonly username: string;
  readonly before: Role;
  readonly after: Role;
}

/**
 * Gives a user a role. Sessions, keys and clients go on, with what the role permits now: whoever keeps answers about
 * them learns of it from the log.
 * @throws DomainError `user-not-found`
 */
export function changeRole(database: Database, actor: Actor, username: string, role: Role): Promise<RoleChange> {
  return database.transaction(async (tx) => {
    const found = await findUser(tx, username);
    const user = found && (await lockUser(tx, found.userId));
    if (!user) throw userNotFound();
    if (user.role !== role) {
      await setRole(tx, user.userId, role);
      await appendRevocations(tx, [{ kind: 'userChanged', id: user.userId }]);
      audit(tx, actor, { pattern: 'identity.set-role' }, `${user.userId}: ${user.role} to ${role}`);
    }
    return { userId: user.userId, username: user.username, before: user.role, after: role };
  });
}
