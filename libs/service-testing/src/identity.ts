import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity, type Revocation } from '@plant-shop/contracts/identity';
import { type CredentialKind, type Permission, permissions as allPermissions } from '@plant-shop/contracts/permissions';
import { type Fake, fake } from './service.js';

export const userId = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

interface FakeCredential {
  readonly kind: CredentialKind;
  readonly id: string;
  readonly userId: string;
  readonly permissions: readonly Permission[];
  readonly expiresAt?: string;
}

/** Identity as services see it that check credentials: credentials by digest, and a numbered revocation log. */
export class FakeIdentity {
  readonly credentials = new Map<string, FakeCredential>();
  /** The permissions of users for whom access tokens were issued. */
  readonly subjects = new Map<string, readonly Permission[]>();
  log: Revocation[] = [];
  signingKeys: readonly Readonly<Record<string, unknown>>[] = [];
  /** Number of checks of a credential. */
  checks = 0;
  /** Request id of the last check of a credential. */
  requestId = '';
  /** While true, it answers no requests. */
  isUnresponsive = false;
  /** How long a check of a credential takes, in milliseconds. */
  checkDelayMs = 0;
  /** How far identity's clock is ahead of this host's. */
  clockAheadMs = 0;
  private added = 0;

  /** @param permissions what a credential permits that is added without permissions */
  constructor(private readonly permissions: readonly Permission[] = allPermissions) {}

  /** Returns identity's clock, in milliseconds since the epoch. */
  time(): number {
    return Date.now() + this.clockAheadMs;
  }

  addCredential(secret: string, credential: Partial<FakeCredential> = {}): void {
    const id = this.credentials.get(digestOf(secret))?.id ?? userId(900 + ++this.added);
    this.credentials.set(digestOf(secret), { kind: 'apiKey', id, userId: userId(1), permissions: this.permissions, ...credential });
  }

  /** Removes a credential without an entry in the log. */
  forget(secret: string): void {
    this.credentials.delete(digestOf(secret));
  }

  revoke(kind: Revocation['kind'], id: string): void {
    this.log.push({ position: this.log.length + 1, kind, id });
    for (const [digest, credential] of this.credentials) {
      if (credential.id === id || credential.userId === id) this.credentials.delete(digest);
    }
    this.subjects.delete(id);
  }

  /** Changes what the user's credentials permit and when they expire. */
  changeUser(id: string, now: Partial<Pick<FakeCredential, 'permissions' | 'expiresAt'>>): void {
    for (const [digest, credential] of this.credentials) {
      if (credential.userId === id) this.credentials.set(digest, { ...credential, ...now });
    }
    if (now.permissions) this.subjects.set(id, now.permissions);
    this.log.push({ position: this.log.length + 1, kind: 'userChanged', id });
  }

  /** Returns the id of a session or API key, for `revoke`. */
  idOf(secret: string): string {
    const known = this.credentials.get(digestOf(secret));
    if (!known) throw new Error(`${secret} is not known`);
    return known.id;
  }

  fakes(): Fake[] {
    return [
      fake(identity.checkCredential, async ({ digest, kind }, { requestId }) => {
        await this.responsive();
        this.checks++;
        this.requestId = requestId;
        if (this.checkDelayMs > 0) await pause(this.checkDelayMs);
        const known = this.credentials.get(digest);
        const isLive = known?.expiresAt === undefined || Date.parse(known.expiresAt) > this.time();
        if (known?.kind !== kind || !isLive) throw new DomainError('credential-refused', 'The credential is not valid.');
        return { ...known, position: this.log.length };
      }),
      fake(identity.resolveSubject, async (payload) => {
        await this.responsive();
        const known = this.subjects.get(payload.userId);
        if (!known) throw new DomainError('credential-refused', 'The user is gone.');
        return { permissions: [...known], position: this.log.length };
      }),
      fake(identity.readRevocations, async ({ after }) => {
        await this.responsive();
        return { head: this.log.length, entries: this.log.slice(after, after + 1_000), matches: true, epoch: 'original', time: this.time() };
      }),
      fake(identity.readSigningKeys, () => ({ keys: this.signingKeys })),
    ];
  }

  private async responsive(): Promise<void> {
    while (this.isUnresponsive) await pause(20);
  }
}
