import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { LoginAttempts } from '../sessions/login-attempts.js';

const maxProven = 1_000;
const deadlineMs = 5_000;

/**
 * Checks client secrets. They are hashed like passwords, since some are made up by people; but machines show theirs for
 * every token, so a secret that was right once is known again by its HMAC, under a key that only this process has. The
 * HMAC covers the hash: with another secret in the table, or none, it is not known any more.
 */
@Injectable()
export class ClientSecrets {
  private readonly key = randomBytes(32);
  /** Oldest first. */
  private readonly proven = new Set<string>();

  constructor(
    private readonly hasher: PasswordHasher,
    private readonly attempts: LoginAttempts,
  ) {}

  /** @throws DomainError `too-many-logins` when the address has failed too often */
  async isRight(secretHash: string, secret: string, address: string): Promise<boolean> {
    const mark = createHmac('sha256', this.key).update(`${secretHash}\0${secret}`).digest('base64url');
    if (this.proven.has(mark)) return true;
    const isRight = await this.attempts.ofAddress(
      address,
      async () => (await this.hasher.verify(secretHash, secret, Deadline.in(deadlineMs))) || undefined,
    );
    if (!isRight) return false;
    const [oldest] = this.proven;
    if (this.proven.size >= maxProven && oldest !== undefined) this.proven.delete(oldest);
    this.proven.add(mark);
    return true;
  }
}
