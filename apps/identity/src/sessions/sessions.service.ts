import { randomUUID } from 'node:crypto';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity, type Login, type Logout, type NewSession } from '@plant-shop/contracts/identity';
import type { EndSession, EndSessions, ListSessions, OpenSession } from '@plant-shop/contracts/identity.sessions';
import { nearby } from '@plant-shop/platform/http/request';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { MailOutbox } from '../mail/outbox.js';
import { auditUnlessSelf, findStoredPassword, findUser, findUserById, type StoredPassword } from '../users/users.repository.js';
import { revokeKeysOf } from '../api-keys.repository.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { fromDigest, newSecret, sha256 } from '../secrets/secrets.js';
import {
  endOldestSessions,
  endSession,
  endSessionOf,
  endSessionsAndGrants,
  insertSession,
  listSessions,
  maxSessions,
  rememberDevice,
  sessionNotFound,
  toOpenSession,
} from '../sessions.repository.js';
import { requireManageable } from '../users/user.js';
import { LoginAttempts } from '../users/login-attempts.js';
import { deviceOf } from './device.js';
import { type Proof, RecentLogin } from '../users/recent-login.js';

/** What a log-in has proven. */
export interface Proven {
  readonly userId: string;
  /** The hash that the password was verified against; without it, a passkey alone was enough. */
  readonly passwordHash?: string;
  readonly passkeyId?: string;
  readonly provedFactor: boolean;
}

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
    private readonly recentLogin: RecentLogin,
    private readonly outbox: MailOutbox,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  async login({ deadline }: RpcContext, login: Login): Promise<NewSession> {
    const { result, attemptsLeft } = await this.withPassword(deadline, login, (stored) => {
      const needed = neededOf(stored, this.options);
      if (needed !== 'nothing') throw secondFactorRequired(needed, this.options.publicUrl);
      return this.openFor({ ...stored, provedFactor: false }, login);
    });
    return { token: result.token, expiresAt: result.expiresAt, attemptsLeft };
  }

  /**
   * Checks a password, for the pages, which may then ask for a second factor.
   * @throws DomainError `login-failed`, `too-many-logins`
   */
  async verifyPassword(deadline: Deadline, login: Login): Promise<StoredPassword> {
    return (await this.withPassword(deadline, login, (stored) => Promise.resolve(stored))).result;
  }

  /**
   * Checks the password of a log-in, and continues it if it is right. Does the same work for an unknown name as for a wrong password.
   * @throws DomainError `login-failed`, `too-many-logins`; what `then` throws, which is no failed login
   */
  private async withPassword<T>(deadline: Deadline, { username, password, address, userAgent }: Login, then: (stored: StoredPassword) => Promise<T | undefined>): Promise<{ result: T; attemptsLeft: number }> {
    const { result, attemptsLeft } = await this.attempts.runForUser(username, address, async () => {
      const stored = await findStoredPassword(this.database, username);
      const isRight = await this.hasher.verify(stored?.passwordHash, password, deadline);
      return stored && isRight ? then(stored) : undefined;
    }, userAgent);
    if (result === undefined) throw loginFailed();
    return { result, attemptsLeft };
  }

  /**
   * Opens a session for the pages, which do not use its token.
   * @throws DomainError `login-failed` if what was proven has changed since
   */
  async openProven(proven: Proven, from: Device): Promise<{ readonly id: string }> {
    const opened = await this.openFor(proven, from);
    if (!opened) throw loginFailed();
    return opened;
  }

  /** Opens a session. Ends the oldest one beyond the limit. */
  private async openFor({ userId, passwordHash, passkeyId, provedFactor }: Proven, from: Device): Promise<OpenedSession | undefined> {
    const token = newSecret();
    const id = randomUUID();
    const session = { id, tokenHash: sha256(token), userId, passwordHash, passkeyId, provedFactor, userAgent: from.userAgent, network: nearby(from.address) };
    const { opened, ended } = await this.database.transaction(async (tx) => {
      const row = await insertSession(tx, { ...session, ttlHours: this.options.sessionTtlHours });
      // Sent together.
      const [isNewDevice, oldest] = await Promise.all([row && rememberDevice(tx, userId, hashOfDevice(from)), endOldestSessions(tx, userId, id, maxSessions)]);
      if (isNewDevice) await this.reportNewDevice(tx, userId, from);
      await appendRevocations(tx, oldest.map((one) => ({ kind: 'session', id: one })));
      return { opened: row, ended: oldest.length > 0 };
    });
    if (ended) this.revocations.publish();
    return opened && { id, userId, token, expiresAt: opened.expiresAt.toISOString() };
  }

  private async reportNewDevice(tx: Transaction, userId: string, from: Device): Promise<void> {
    const user = await findUserById(tx, userId);
    if (user) await this.outbox.notice(tx, user, 'new-sign-in', { from: from.address, device: deviceOf(from.userAgent ?? null) });
  }

  async logout(digest: string): Promise<{ ended: boolean }> {
    const ended = await this.database.transaction(async (tx) => {
      const id = await endSession(tx, fromDigest(digest));
      if (id !== undefined) await appendRevocations(tx, [{ kind: 'session', id }]);
      return id !== undefined;
    });
    if (ended) this.revocations.publish();
    return { ended };
  }

  async list({ principal }: RpcContext, { username, ownSession }: ListSessions): Promise<OpenSession[]> {
    const { userId } = requireManageable(principal, await findUser(this.database, username));
    const own = ownSession === undefined ? undefined : fromDigest(ownSession);
    return (await listSessions(this.database, userId, this.options.idleHours)).map((one) => toOpenSession(one, own));
  }

  async end(context: RpcContext, { username, sessionId, ...proof }: EndSession): Promise<{ ended: string }> {
    await this.requireProofForOthers(context, username, proof);
    await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const ended = await endSessionOf(tx, userId, sessionId);
      if (ended.length === 0) throw sessionNotFound();
      await appendRevocations(tx, ended);
      auditUnlessSelf(tx, context, identity.endSession, userId, `${userId}/${sessionId}`);
    });
    this.revocations.publish();
    return { ended: sessionId };
  }

  /** Logs out everywhere: ends all sessions and all grants to applications, of a compromised account also the API keys. */
  async endAll(context: RpcContext, { username, compromised, ...proof }: EndSessions): Promise<{ ended: number }> {
    await this.requireProofForOthers(context, username, proof);
    const ended = await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const revoked = await endSessionsAndGrants(tx, userId, undefined);
      if (compromised) revoked.push(...(await revokeKeysOf(tx, userId)));
      await appendRevocations(tx, revoked);
      auditUnlessSelf(tx, context, identity.endSessions, userId);
      return revoked.filter(({ kind }) => kind === 'session').length;
    });
    this.revocations.publish();
    return { ended };
  }

  /** Before the transaction, which must not wait for a hash. Who may do it at all is decided first. */
  private async requireProofForOthers(context: RpcContext, username: string, proof: Proof): Promise<void> {
    const { userId } = requireManageable(context.principal, await findUser(this.database, username));
    if (userId !== context.principal.subject) await this.recentLogin.require(context, proof);
  }
}

/** From where someone logs in. */
interface Device {
  readonly address: string;
  readonly userAgent?: string | undefined;
}

const loginFailed = (): DomainError => new DomainError('login-failed', 'The username or the password is wrong.');

/** What a log-in needs beside the password: a factor of a user who has one, and of staff, if the shop requires it, the enrolment of the first. */
export function neededOf({ hasFactor, role }: Pick<StoredPassword, 'hasFactor' | 'role'>, { requireSecondFactor }: IdentityOptions): 'nothing' | 'factor' | 'enrolment' {
  if (hasFactor) return 'factor';
  return requireSecondFactor === 'staff' && role !== 'customer' ? 'enrolment' : 'nothing';
}

const secondFactorRequired = (needed: 'factor' | 'enrolment', publicUrl: string): DomainError =>
  new DomainError(
    'second-factor-required',
    needed === 'factor'
      ? `This account has a second factor. Log in on a page of the shop, such as ${publicUrl}/console.`
      : `Accounts of staff need a second factor. Log in on a page of the shop, such as ${publicUrl}/console, which asks you to add one.`,
  );

/** Versions do not count: programs update themselves. */
const hashOfDevice = ({ address, userAgent = '' }: Device): Buffer => sha256(JSON.stringify([userAgent.replaceAll(/[\d._]+/g, ''), nearby(address)]));

@Controller()
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Answers(identity.login)
  login(request: Login, context: RpcContext): Promise<NewSession> {
    return this.sessions.login(context, request);
  }

  @Answers(identity.listSessions)
  listSessions(request: ListSessions, context: RpcContext): Promise<OpenSession[]> {
    return this.sessions.list(context, request);
  }

  @Answers(identity.endSession)
  endSession(request: EndSession, context: RpcContext): Promise<{ ended: string }> {
    return this.sessions.end(context, request);
  }

  @Answers(identity.endSessions)
  endSessions(request: EndSessions, context: RpcContext): Promise<{ ended: number }> {
    return this.sessions.endAll(context, request);
  }

  @Answers(identity.logout)
  logout({ digest }: Logout): Promise<{ ended: boolean }> {
    return this.sessions.logout(digest);
  }
}
