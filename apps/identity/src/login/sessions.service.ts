import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity, type Login, type Session } from '@plant-shop/contracts/identity';
import type { EndSession, EndSessions, ListSessions, OpenSession } from '@plant-shop/contracts/identity.sessions';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { auditUnlessSelf } from '../audit/audit-unless-self.js';
import { fromDigest, newSecret, sha256 } from '../secrets/secret.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { requireManageable } from '../users/user.js';
import { findStoredPassword, findUser } from '../users/users.repository.js';
import { endSessionsAndGrants } from '../sessions/end-sessions-and-grants.js';
import { LoginAttempts } from './login-attempts.js';
import { maxSessions, sessionNotFound, toOpenSession } from '../sessions/session.js';
import { endOldestSessions, endSession, endSessionOf, insertSession, listSessions } from '../sessions/sessions.repository.js';

interface OpenedSession {
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
   * Checks the password and opens a session, for `login` and for the OAuth pages, which do not use its token. Does the same
   * work for an unknown name as for a wrong password.
   * @throws DomainError `login-failed`, `too-many-logins`
   */
  async open(deadline: Deadline, login: Login): Promise<OpenedSession & { readonly attemptsLeft: number }> {
    const { username, password, address, userAgent } = login;
    const { result, attemptsLeft } = await this.attempts.runForUser(username, address, async () => {
      const stored = await findStoredPassword(this.database, username);
      const isRight = await this.hasher.verify(stored?.passwordHash, password, deadline);
      return stored && isRight ? this.openFor(stored.userId, stored.passwordHash, userAgent) : undefined;
    });
    if (!result) throw new DomainError('login-failed', 'The username or the password is wrong.');
    return { ...result, attemptsLeft };
  }

  /** Opens a session of a user whose password was verified against `passwordHash`. Ends the oldest one beyond the limit. */
  private async openFor(userId: string, passwordHash: string, userAgent: string | undefined): Promise<OpenedSession | undefined> {
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

  async logout(digest: string): Promise<{ ended: boolean }> {
    const ended = await this.database.transaction(async (tx) => {
      const id = await endSession(tx, fromDigest(digest));
      if (id !== undefined) await appendRevocations(tx, [{ kind: 'session', id }]);
      return id !== undefined;
    });
    if (ended) this.revocations.nudge();
    return { ended };
  }

  async list({ principal }: RpcContext, { username, ownSession }: ListSessions): Promise<OpenSession[]> {
    const { userId } = requireManageable(principal, await findUser(this.database, username));
    const own = ownSession === undefined ? undefined : fromDigest(ownSession);
    return (await listSessions(this.database, userId)).map((one) => toOpenSession(one, own));
  }

  async end(context: RpcContext, { username, sessionId }: EndSession): Promise<{ ended: string }> {
    await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      if (!(await endSessionOf(tx, userId, sessionId))) throw sessionNotFound();
      await appendRevocations(tx, [{ kind: 'session', id: sessionId }]);
      auditUnlessSelf(tx, context, identity.endSession, userId, `${userId}/${sessionId}`);
    });
    this.revocations.nudge();
    return { ended: sessionId };
  }

  /** Logs out everywhere: ends all sessions and all grants to applications. */
  async endAll(context: RpcContext, { username }: EndSessions): Promise<{ ended: number }> {
    const ended = await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const revoked = await endSessionsAndGrants(tx, userId, undefined);
      await appendRevocations(tx, revoked);
      auditUnlessSelf(tx, context, identity.endSessions, userId);
      return revoked.filter(({ kind }) => kind === 'session').length;
    });
    this.revocations.nudge();
    return { ended };
  }
}
