import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { permissions } from '@plant-shop/contracts/permissions';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { insertKey, removeDeadKey } from '../api-keys/api-keys.repository.js';
import { sha256 } from '../credentials/secret.js';
import { OAuthClientEntity } from '../oauth/oauth-client.entity.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { findUser } from '../users/users.repository.js';
import { UsersService } from '../users/users.service.js';

const admin = { username: 'admin', password: 'admin-password' };
const apiKey = 'special-key';
const client = { clientId: 'plant-admin', secret: 'plant-secret' };
/** The public client that "Authorize" on `/docs` begins with: the gateway's setting `DOCS_OAUTH_CLIENT`. */
const docsClientId = 'plant-docs';
/** The public client that people log in with at `/console`: the gateway's setting `CONSOLE_OAUTH_CLIENT`. */
const consoleClientId = 'plant-console';
const deadlineMs = 10_000;

/**
 * The credentials that a demo prints, made anew at each start where they are missing. A warm start hashes nothing.
 * Refused in production by the settings.
 */
@Injectable()
export class DemoData implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly users: UsersService,
    private readonly hasher: PasswordHasher,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    if (!this.options.demoData) return;
    const userId = await this.adminId();
    const existing = await this.database.repository(OAuthClientEntity).findOneBy({ clientId: client.clientId });
    const secretHash = existing?.secretHash ?? (await this.hash(client.secret));
    await this.database.transaction(async (tx) => {
      const keyHash = sha256(apiKey);
      await removeDeadKey(tx, keyHash);
      const key = { id: randomUUID(), userId, name: 'demo', prefix: 'special', permissions, expiresAt: undefined };
      await insertKey(tx, { ...key, keyHash });
      const redirectUris = docsAddresses(this.options.publicUrl);
      const consoleRedirectUris = consoleAddresses(this.options.publicUrl);
      const clients = tx.repository(OAuthClientEntity);
      const inserted = clients.createQueryBuilder().insert().values([
        {
          clientId: client.clientId,
          name: client.clientId,
          redirectUris: [],
          grantTypes: ['client_credentials'],
          scopes: permissions,
          ownerId: userId,
          secretId: randomUUID(),
          secretHash,
        },
        {
          clientId: docsClientId,
          name: 'API reference',
          redirectUris,
          grantTypes: ['authorization_code'],
          scopes: permissions,
        },
        {
          clientId: consoleClientId,
          name: 'Console',
          redirectUris: consoleRedirectUris,
          grantTypes: ['authorization_code', 'refresh_token'],
          scopes: permissions,
        },
      ]);
      await inserted.orIgnore().execute();
      // The shop may have been started at another address before.
      await clients.update(docsClientId, { redirectUris });
      await clients.update(consoleClientId, { redirectUris: consoleRedirectUris });
    });
    this.logger.info('demo data is there');
  }

  private async adminId(): Promise<string> {
    const there = await findUser(this.database, admin.username);
    if (there) return there.userId;
    await this.makeAdmin();
    const made = await findUser(this.database, admin.username);
    if (!made) throw new Error('the admin of the demo was made, and is gone');
    return made.userId;
  }

  private async makeAdmin(): Promise<void> {
    const context = new RpcContext('demo data', Deadline.in(deadlineMs));
    try {
      await this.users.register(
        context,
        { users: [{ ...admin }], pointerOf: () => '/demo', role: 'admin' },
        (records) => records,
      );
    } catch (error) {
      // Another process that started at the same moment was faster.
      if (!(error instanceof DomainError) || error.code !== 'username-taken') throw error;
    }
  }

  private hash(secret: string): Promise<string> {
    return this.hasher.hash(secret, Deadline.in(deadlineMs));
  }
}

const loopbackHosts = ['127.0.0.1', 'localhost', '[::1]'];

/** Where the page at `/docs` has its users sent back to. */
export const docsAddresses = (publicUrl: string): string[] => originsOf(publicUrl).map((origin) => `${origin}/docs/oauth2-redirect.html`);

/** Where the console has its users sent back to; on this machine also by Vite's development server (apps/console/README.md). */
export function consoleAddresses(publicUrl: string): string[] {
  const origins = originsOf(publicUrl);
  const development = origins.length > 1 ? ['http://127.0.0.1:5173', 'http://localhost:5173'] : [];
  return [...origins, ...development].map((origin) => `${origin}/console/`);
}

/** All names under which a shop on this machine is opened. */
function originsOf(publicUrl: string): string[] {
  const { hostname } = new URL(publicUrl);
  return loopbackHosts.includes(hostname) ? loopbackHosts.map((host) => publicUrl.replace(hostname, host)) : [publicUrl];
}
