import { Controller, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import type { Factor, FactorRemoval, ListFactors, RemoveFactor } from '@plant-shop/contracts/identity.factors';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import { type Actor, actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Database } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { askForRemoval, deleteFactorsOf, type FactorRecord, listFactors } from '../factors/factors.repository.js';
import { Factors } from '../factors/factors.service.js';
import type { MailOutbox } from '../mail/outbox.js';
import { RecentLogin } from './recent-login.js';
import { assertHasAll, requireManageable, userNotFound, type UserRecord } from './user.js';
import { findUser, lockUser } from './users.repository.js';

/** The second factors of users, for the API. */
@Injectable()
export class UserFactors {
  constructor(
    private readonly database: Database,
    private readonly factors: Factors,
    private readonly recentLogin: RecentLogin,
  ) {}

  async list({ principal }: RpcContext, username: string): Promise<Factor[]> {
    const { userId } = requireManageable(principal, await findUser(this.database, username));
    return (await listFactors(this.database, userId)).map(toFactor);
  }

  /**
   * Removes a factor. Of another admin, it only asks, until a second admin asks, too: one alone could take over the account of any other.
   * @throws DomainError `forbidden`, `user-not-found`, `factor-not-found`, `recent-login-required`, `too-many-logins`
   */
  async remove(context: RpcContext, { username, factorId, ...proof }: RemoveFactor): Promise<FactorRemoval> {
    const { principal } = context;
    const found = requireManageable(principal, await findUser(this.database, username));
    const { userId } = found;
    // Who may do it at all is decided first; the role may be raised before the transaction, which decides again.
    if (!isSessionOf(principal, found)) assertHasAll(principal, permissionsOfRole[found.role]);
    await this.recentLogin.require(context, proof);
    const state = await this.database.transaction(async (tx) => {
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      const isSelf = isSessionOf(principal, user);
      if (!isSelf) assertHasAll(principal, permissionsOfRole[user.role]);
      if (!(await listFactors(tx, userId)).some(({ id }) => id === factorId)) throw factorNotFound();
      if (!isSelf && user.role === 'admin' && !(await askForRemoval(tx, factorId, principal.subject))) {
        audit(tx, actorOf(context), { pattern: 'identity.askForFactorRemoval' }, `${userId}/${factorId}`);
        return 'waiting';
      }
      await this.factors.remove(tx, user, factorId, actorOf(context), isSelf ? proof.address : undefined);
      return 'removed';
    });
    if (state === 'removed') this.factors.onChange?.('removed');
    return { id: factorId, state };
  }
}

/** An API key of the user is not enough: it would let a thief log in by the password alone. */
const isSessionOf = ({ subject, shown }: Principal, { userId }: UserRecord): boolean => subject === userId && shown.includes('session');

const toFactor = ({ id, kind, name, createdAt, lastUsedAt, lockedAt }: FactorRecord): Factor => ({
  id,
  kind,
  name,
  createdAt: createdAt.toISOString(),
  ...(lastUsedAt && { lastUsedAt: lastUsedAt.toISOString() }),
  locked: lockedAt !== null,
});

const factorNotFound = (): DomainError => new DomainError('factor-not-found', 'The user has no second factor with this id.');

/**
 * Removes all second factors of a user, for the command `remove-factors`.
 * @returns how many there were
 * @throws DomainError `user-not-found`
 */
export function removeAllFactors(database: Database, outbox: MailOutbox, actor: Actor, username: string): Promise<{ readonly user: UserRecord; readonly removed: number }> {
  return database.transaction(async (tx) => {
    const found = await findUser(tx, username);
    const user = found && (await lockUser(tx, found.userId));
    if (!user) throw userNotFound();
    const removed = await deleteFactorsOf(tx, user.userId);
    for (const { id, kind, name } of removed) {
      audit(tx, actor, identity.removeFactor, `${user.userId}/${id}`);
      await outbox.notice(tx, user, 'factor-removed', { factor: kind === 'passkey' ? 'passkey' : 'authenticator app', keyName: name });
    }
    return { user, removed: removed.length };
  });
}

@Controller()
export class UserFactorsController {
  constructor(private readonly factors: UserFactors) {}

  @Answers(identity.listFactors)
  listFactors({ username }: ListFactors, context: RpcContext): Promise<Factor[]> {
    return this.factors.list(context, username);
  }

  @Answers(identity.removeFactor)
  removeFactor(request: RemoveFactor, context: RpcContext): Promise<FactorRemoval> {
    return this.factors.remove(context, request);
  }
}
