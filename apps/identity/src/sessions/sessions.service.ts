import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity, type Login, type Session } from '@plant-shop/contracts/identity';
import type { EndSession, EndSessions, ListSessions, OpenSession } from '@plant-shop/contracts/identity.sessions';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { auditOthers } from '../audit/audit-others.js';
import { fromDigest, newSecret, sha256 } from '../credentials/secret.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { managed } from '../users/user.js';
import { findLogin, findUser } from '../users/users.repository.js';
import { endLogins } from './end-logins.js';
import { LoginAttempts } from './login-attempts.js';
import { maxSessions, sessionNotFound, toOpenSession } from './open-session.js';
import { endOldestSessions, endSession, endSessionOf, insertSession, listSessions } from './sessions.repository.js';

interface Opened {
  readonly id: string;
  readonly userId: string;
  readonly token: string;
  readonly expiresAt: string;
}

@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly attempts: LoginAttempts,
    private readonly revocations: RevocationsService,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  async login({ deadline }: RpcContext, login: Login): Promise<Session> {
    const { token, expiresAt, attemptsLeft } = await this.open(deadline, login);
    return { token, expiresAt, attemptsLeft };
  }

  /**
   * Opens a session, whose token whoever logs in on the OAuth pages does not need. Takes the same steps for a name that
   * nobody has as for a wrong password.
   * @throws DomainError `login-failed`, `too-many-logins`
   */
  async open(deadline: Deadline, login: Login): Promise<Opened & { readonly attemptsLeft: number }> {
    const { username, password, address, userAgent } = login;
    const { result, attemptsLeft } = await this.attempts.ofUser(username, address, async () => {
      const known = await findLogin(this.database, username);
      const isRight = await this.hasher.verify(known?.passwordHash, password, deadline);
      return known && isRight ? this.insert(known.userId, known.passwordHash, userAgent) : undefined;
    });
    if (!result) throw new DomainError('login-failed', 'The username or the password is wrong.');
    return { ...result, attemptsLeft };
  }

  async logout(digest: string): Promise<{ ended: boolean }> {
    const ended = await this.database.transaction(async (tx) => {
      const id = await endSession(tx, fromDigest(digest));
      if (id !== undefined) await appendRevocations(tx, [{ kind: 'session', id }]);
      return id !== undefined;
    });
    if (ended) this.revocations.nudge();
    return { ended };
  }

  async list({ caller }: RpcContext, { username, ownSession }: ListSessions): Promise<OpenSession[]> {
    const { userId } = managed(caller, await findUser(this.database, username));
    const own = ownSession === undefined ? undefined : fromDigest(ownSession);
    return (await listSessions(this.database, userId)).map((one) => toOpenSession(one, own));
  }

  async end(context: RpcContext, { username, sessionId }: EndSession): Promise<{ ended: string }> {
    await this.database.transaction(async (tx) => {
      const { userId } = managed(context.caller, await findUser(tx, username));
      if (!(await endSessionOf(tx, userId, sessionId))) throw sessionNotFound();
      await appendRevocations(tx, [{ kind: 'session', id: sessionId }]);
      auditOthers(tx, context, identity.endSession, userId, `${userId}/${sessionId}`);
    });
    this.revocations.nudge();
    return { ended: sessionId };
  }

  /** Everywhere: all sessions, and what was granted to applications. */
  async endAll(context: RpcContext, { username }: EndSessions): Promise<{ ended: number }> {
    const ended = await this.database.transaction(async (tx) => {
      const { userId } = managed(context.caller, await findUser(tx, username));
      const logins = await endLogins(tx, userId, undefined);
      await appendRevocations(tx, logins);
      auditOthers(tx, context, identity.endSessions, userId);
      return logins.filter(({ kind }) => kind === 'session').length;
    });
    this.revocations.nudge();
    return { ended };
  }

  private async insert(
    userId: string,
    passwordHash: string,
    userAgent: string | undefined,
  ): Promise<Opened | undefined> {
    const token = newSecret();
    const id = randomUUID();
    const session = { id, tokenHash: sha256(token), userId, passwordHash, userAgent };
    const { opened, ended } = await this.database.transaction(async (tx) => {
      const row = await insertSession(tx, { ...session, ttlHours: this.options.sessionTtlHours });
      const oldest = await endOldestSessions(tx, userId, maxSessions);
      await appendRevocations(tx, oldest.map((one) => ({ kind: 'session', id: one })));
      return { opened: row, ended: oldest.length > 0 };
    });
    if (ended) this.revocations.nudge();
    return opened && { id, userId, token, expiresAt: opened.expiresAt.toISOString() };
  }
}
