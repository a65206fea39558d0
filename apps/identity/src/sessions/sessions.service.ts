import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import type { Login, Session } from '@plant-shop/contracts/identity';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { fromDigest, newSecret, sha256 } from '../credentials/secret.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { findLogin } from '../users/users.repository.js';
import { LoginAttempts } from './login-attempts.js';
import { endSession, insertSession } from './sessions.repository.js';

@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly attempts: LoginAttempts,
    private readonly revocations: RevocationsService,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /** Takes the same steps for a name that nobody has as for a wrong password. */
  async login(context: RpcContext, { username, password, address }: Login): Promise<Session> {
    const { result, attemptsLeft } = await this.attempts.ofUser(username, address, async () => {
      const login = await findLogin(this.database, username);
      const isRight = await this.hasher.verify(login?.passwordHash, password, context.deadline);
      return login && isRight ? this.open(login.userId, login.passwordHash) : undefined;
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

  private async open(userId: string, passwordHash: string): Promise<Omit<Session, 'attemptsLeft'> | undefined> {
    const token = newSecret();
    const opened = await this.database.transaction((tx) =>
      insertSession(tx, {
        id: randomUUID(),
        tokenHash: sha256(token),
        userId,
        passwordHash,
        ttlHours: this.options.sessionTtlHours,
      }),
    );
    return opened && { token, expiresAt: opened.expiresAt.toISOString() };
  }
}
