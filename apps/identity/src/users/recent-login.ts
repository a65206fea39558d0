import { Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Deadline, Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { OneTimeCodes } from '../factors/codes.js';
import { findHasFactor } from '../factors/factors.repository.js';
import { Passkeys } from '../factors/passkeys.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { findProvenSession } from '../sessions.repository.js';
import { findPasswordOf } from './users.repository.js';
import { LoginAttempts } from './login-attempts.js';

/** What a request for a sensitive change says about its sender. */
export interface Proof {
  /** Of the caller, not of the user that the change is about. */
  readonly currentPassword?: string | undefined;
  /** A code of the caller's second factor. Without a password: what `Passkeys.exchange` has returned. */
  readonly currentCode?: string | undefined;
  readonly address?: string | undefined;
}

/** What a page's form shows of who sent it. Fields that it does not have are empty. */
export interface Shown {
  readonly password: string;
  /** Of the second factor. */
  readonly code: string;
  /** The browser's answer for a passkey; empty: the code counts. */
  readonly passkey: string;
  /** The page and the browser that the passkey is for. */
  readonly place: string;
  readonly address: string;
  readonly requestId: string;
  readonly deadline: Deadline;
}

/**
 * Decides whether a caller may make a sensitive change: one that would let a thief of a session or token stay, or keep others out
 * (docs/decisions/credentials-and-permissions.md). It takes a session that began in the last ten minutes, or the caller's password. If
 * the caller has a second factor, the session must have proved it, or a code must accompany the password; a passkey is enough alone. An access
 * token has none of these. API keys with `write:users` are exempt, since machines have no password.
 */
@Injectable()
export class RecentLogin {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly attempts: LoginAttempts,
    private readonly codes: OneTimeCodes,
    private readonly passkeys: Passkeys,
  ) {}

  /** @throws DomainError `recent-login-required`, `too-many-logins` */
  async require(context: RpcContext, proof: Proof): Promise<void> {
    if (!(await this.isProven(context, proof))) throw recentLoginRequired();
  }

  /** @throws DomainError `recent-login-required` for a wrong password or code, `too-many-logins` after too many */
  async isProven({ principal, deadline }: RpcContext, { currentPassword, currentCode, address }: Proof): Promise<boolean> {
    if (isMachine(principal) || (await this.hasRecentSession(principal))) return true;
    if (currentPassword === undefined) {
      if (currentCode === undefined) return false;
      if (await this.passkeys.isExchanged(principal.subject, currentCode)) return true;
      throw codeRefused();
    }
    const stored = await findPasswordOf(this.database, principal.subject);
    if (!stored) return false;
    if (!(await this.isPassword(stored, currentPassword, deadline, address))) {
      throw new DomainError('recent-login-required', 'The current password is wrong. Nothing was changed.');
    }
    if (!stored.hasFactor) return true;
    if (currentCode === undefined) {
      throw new DomainError('recent-login-required', 'Your account has a second factor: send a code of your app, or a recovery code, as currentCode, too (without a body in the header Current-Code).');
    }
    if (await this.isCode(stored, currentCode, address)) return true;
    throw codeRefused();
  }

  /**
   * Checks who sent a form: by the second factor, or by the password of a user who has none.
   * @throws DomainError `too-many-logins`
   */
  async isShown(user: { readonly userId: string; readonly username: string }, { password, code, passkey, place, address, requestId, deadline }: Shown): Promise<boolean> {
    const stored = await findPasswordOf(this.database, user.userId);
    if (!stored) return false;
    if (!stored.hasFactor) return this.isPassword(stored, password, deadline, address);
    if (passkey !== '') return (await this.passkeys.check(place, passkey, requestId, user.userId)) !== undefined;
    return code !== '' && this.isCode(user, code, address);
  }

  /** Checks a code of a second factor and uses it up. A wrong one counts. @throws DomainError `too-many-logins` */
  isCode(user: { readonly userId: string; readonly username: string }, code: string, address = ''): Promise<boolean> {
    return this.attempts.runForCode(user, address, () => this.codes.check(user.userId, code, address));
  }

  /** Compares a password with a stored one, and counts a failure like that of a login: else it could be guessed here. */
  async isPassword(
    { username, passwordHash }: { readonly username: string; readonly passwordHash: string },
    password: string,
    deadline: Deadline,
    address = '',
  ): Promise<boolean> {
    const verify = async (): Promise<true | undefined> => (await this.hasher.verify(passwordHash, password, deadline)) || undefined;
    return (await this.attempts.runForUser(username, address, verify)).result === true;
  }

  private async hasRecentSession({ subject, shown, shownIds = [] }: Principal): Promise<boolean> {
    const id = shownIds[shown.indexOf('session')];
    const session = id === undefined ? undefined : await findProvenSession(this.database, subject, id);
    return session !== undefined && session.isRecent && (session.provedFactor || !(await findHasFactor(this.database, subject)));
  }
}

const isMachine = ({ shown, permissions }: Principal): boolean =>
  shown.length > 0 && shown.every((kind) => kind === 'apiKey') && permissions.includes('write:users');

const codeRefused = (): DomainError => new DomainError('recent-login-required', 'The code is wrong or was used before. Nothing was changed.');

export const recentLoginRequired = (): DomainError =>
  new DomainError('recent-login-required', 'Log in again, or send your password as currentPassword (without a body in the header Current-Password).');
