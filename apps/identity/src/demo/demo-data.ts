import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { permissions } from '@plant-shop/contracts/permissions';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { insertKey, deleteEndedKey } from '../api-keys.repository.js';
import { sha256 } from '../secrets/secrets.js';
import { OAuthClientEntity } from '../database.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { findUser } from '../users/users.repository.js';
import { UsersService } from '../users/users.service.js';

const admin = { username: 'admin', password: 'admin-password' };
const apiKey = 'special-key';
const client = { clientId: 'plant-admin', secret: 'plant-secret' };
/** Public client of "Authorize" on `/docs`; the gateway's setting `DOCS_OAUTH_CLIENT`. */
const docsClientId = 'plant-docs';
/** Public client of `/console`; the gateway's setting `CONSOLE_OAUTH_CLIENT`. */
const consoleClientId = 'plant-console';
const deadlineMs = 10_000;

/**
 * Creates the credentials that the demo prints, at each start, if they are missing. Hashes nothing if they exist. The
 * settings refuse it in production.
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
    const userId = await this.findOrCreateAdmin();
    const existing = await this.database.repository(OAuthClientEntity).findOneBy({ clientId: client.clientId });
    const secretHash = existing?.secretHash ?? (await this.hash(client.secret));
    await this.database.transaction(async (tx) => {
      const keyHash = sha256(apiKey);
      await deleteEndedKey(tx, keyHash);
      const key = { id: randomUUID(), userId, name: 'demo', prefix: 'special', permissions, expiresAt: undefined };
      await insertKey(tx, { ...key, keyHash });
      const redirectUris = redirectUrisOfDocs(this.options.publicUrl);
      const consoleRedirectUris = redirectUrisOfConsole(this.options.publicUrl);
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
      // PUBLIC_URL may have changed since the last start.
      await clients.update(docsClientId, { redirectUris });
      await clients.update(consoleClientId, { redirectUris: consoleRedirectUris });
    });
    this.logger.info('demo data ready');
  }

  private async findOrCreateAdmin(): Promise<string> {
    const existing = await findUser(this.database, admin.username);
    if (existing) return existing.userId;
    await this.createAdmin();
    const created = await findUser(this.database, admin.username);
    if (!created) throw new Error('the demo admin was created but cannot be found');
    return created.userId;
  }

  private async createAdmin(): Promise<void> {
    const context = new RpcContext('demo data', Deadline.in(deadlineMs));
    try {
      await this.users.register(
        context,
        { users: [{ ...admin }], pointerOf: () => '/demo', role: 'admin' },
        (records) => records,
      );
    } catch (error) {
      // Another process that starts at the same time has created it.
      if (!(error instanceof DomainError) || error.code !== 'username-taken') throw error;
    }
  }

  private hash(secret: string): Promise<string> {
    return this.hasher.hash(secret, Deadline.in(deadlineMs));
  }
}

const loopbackHosts = ['127.0.0.1', 'localhost', '[::1]'];

/** Returns the redirect URIs of `/docs`. */
const redirectUrisOfDocs = (publicUrl: string): string[] =>
  originsOf(publicUrl).map((origin) => `${origin}/docs/oauth2-redirect.html`);

/** Returns the redirect URIs of the console; on a loopback host, also those of Vite's development server (apps/console/README.md). */
function redirectUrisOfConsole(publicUrl: string): string[] {
  const origins = originsOf(publicUrl);
  const development = origins.length > 1 ? ['http://127.0.0.1:5173', 'http://localhost:5173'] : [];
  return [...origins, ...development].map((origin) => `${origin}/console/`);
}

/** Returns the origin or, for a loopback host, the origins of all loopback names. */
function originsOf(publicUrl: string): string[] {
  const { hostname } = new URL(publicUrl);
  return loopbackHosts.includes(hostname) ? loopbackHosts.map((host) => publicUrl.replace(hostname, host)) : [publicUrl];
}
