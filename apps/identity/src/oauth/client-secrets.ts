import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Deadline } from '@plant-shop/platform/rpc/context';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { LoginAttempts } from '../users/login-attempts.js';

const maxVerified = 1_000;
const deadlineMs = 5_000;

/**
 * Checks client secrets. They are hashed like passwords, since people may choose them. Machines send theirs for every
 * token, so a verified secret is recognised by its HMAC under a key that only this process has. The HMAC covers the stored
 * hash, so replacing the secret invalidates it.
 */
@Injectable()
export class ClientSecrets {
  private readonly key = randomBytes(32);
  /** Fingerprints of verified secrets, oldest first. */
  private readonly verified = new Set<string>();

  constructor(
    private readonly hasher: PasswordHasher,
    private readonly attempts: LoginAttempts,
  ) {}

  /** Returns whether the secret is right. @throws DomainError `too-many-logins` after too many failures from the address */
  async isRight(secretHash: string, secret: string, address: string): Promise<boolean> {
    const fingerprint = createHmac('sha256', this.key).update(`${secretHash}\0${secret}`).digest('base64url');
    if (this.verified.has(fingerprint)) return true;
    const isRight = await this.attempts.runForAddress(
      address,
      async () => (await this.hasher.verify(secretHash, secret, Deadline.in(deadlineMs))) || undefined,
    );
    if (!isRight) return false;
    const [oldest] = this.verified;
    if (this.verified.size >= maxVerified && oldest !== undefined) this.verified.delete(oldest);
    this.verified.add(fingerprint);
    return true;
  }
}
