import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type CheckCredential, type Credential, identity, type ResolveSubject } from '@plant-shop/contracts/identity';
import { type Permission, permissionsOfRole } from '@plant-shop/contracts/permissions';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { effectivePermissions } from '../api-keys/api-key.js';
import { touchKeys } from '../api-keys.repository.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { fromDigest } from '../secrets/secrets.js';
import { touchSessions } from '../sessions.repository.js';
import { findLiveKey, findLiveSession, findRole } from './credentials.repository.js';

const touch = { apiKey: touchKeys, session: touchSessions };
type Kind = keyof typeof touch;
const kinds: readonly Kind[] = ['apiKey', 'session'];

/** Collects which keys and sessions were used and writes `lastUsedAt` once a second, so that checks never wait for a write. */
@Injectable()
export class CredentialUses extends BackgroundLoop {
  private used: Readonly<Record<Kind, Set<string>>> = { apiKey: new Set(), session: new Set() };

  constructor(
    private readonly database: Database,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'credential uses', intervalMs: options.usesIntervalMs }, () => this.write(), logger);
  }

  override async onApplicationShutdown(): Promise<void> {
    await this.stop();
    await this.write();
  }

  record(kind: Kind, id: string): void {
    this.used[kind].add(id);
  }

  /** Uses are lost when the write fails; the next use records them again. */
  private async write(): Promise<boolean> {
    const { used } = this;
    this.used = { apiKey: new Set(), session: new Set() };
    for (const kind of kinds) {
      const ids = [...used[kind]];
      if (ids.length > 0) await this.database.transaction((tx) => touch[kind](tx, ids));
    }
    return false;
  }
}

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
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
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
    const session = await findLiveSession(this.database, tokenHash, this.options.idleHours);
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

@Controller()
export class CredentialsController {
  constructor(private readonly credentials: CredentialsService) {}

  @Answers(identity.checkCredential)
  checkCredential(request: CheckCredential): Promise<Credential> {
    return this.credentials.check(request);
  }

  @Answers(identity.resolveSubject)
  resolveSubject({ userId }: ResolveSubject): Promise<{ permissions: Permission[]; position: number }> {
    return this.credentials.resolveSubject(userId);
  }
}
