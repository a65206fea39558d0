import { Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import type { CheckCredential, Credential } from '@plant-shop/contracts/identity';
import { type Permission, permissionsOfRole } from '@plant-shop/contracts/permissions';
import { Database } from '@plant-shop/platform/postgres/database';
import { effectivePermissions } from '../api-keys/api-key.js';
import { CredentialUses } from './credential-uses.js';
import { findLiveKey, findLiveSession, findRole } from './credentials.repository.js';
import { fromDigest } from '../secrets/secret.js';

const refused = (): DomainError =>
  new DomainError('credential-refused', 'The credential is unknown, expired or revoked. Log in or use another one.');

/** Reveals nothing: only callers that hold the key get this answer. */
const apiKeyAsToken = (): DomainError =>
  new DomainError('credential-refused', 'This is an API key sent as a bearer token. Send it in the header api_key.');

@Injectable()
export class CredentialsService {
  constructor(
    private readonly database: Database,
    private readonly uses: CredentialUses,
  ) {}

  check({ kind, digest }: CheckCredential): Promise<Credential> {
    return kind === 'session' ? this.checkSession(fromDigest(digest)) : this.checkKey(fromDigest(digest));
  }

  async resolveSubject(userId: string): Promise<{ permissions: Permission[]; position: number }> {
    const found = await findRole(this.database, userId);
    if (!found) throw refused();
    return { permissions: [...permissionsOfRole[found.role]], position: found.position };
  }

  private async checkSession(tokenHash: Buffer): Promise<Credential> {
    const session = await findLiveSession(this.database, tokenHash);
    if (!session) throw (await findLiveKey(this.database, tokenHash)) ? apiKeyAsToken() : refused();
    const { id, userId, role, expiresAt, position } = session;
    if (session.isUseStale) this.uses.record('session', id);
    return {
      kind: 'session',
      id,
      userId,
      permissions: permissionsOfRole[role],
      expiresAt: expiresAt.toISOString(),
      position,
    };
  }

  private async checkKey(keyHash: Buffer): Promise<Credential> {
    const key = await findLiveKey(this.database, keyHash);
    if (!key) throw refused();
    if (key.isUseStale) this.uses.record('apiKey', key.id);
    return {
      kind: 'apiKey',
      id: key.id,
      userId: key.userId,
      permissions: effectivePermissions(key.permissions, key.role),
      ...(key.expiresAt && { expiresAt: key.expiresAt.toISOString() }),
      position: key.position,
    };
  }
}
