import { createHash, randomBytes } from 'node:crypto';
import { type Credential, identity, type NewSession, type User } from '@plant-shop/contracts/identity';
import { permissions } from '@plant-shop/contracts/permissions';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { Service } from '@plant-shop/platform/service/service';
import { CrashTestbed } from '@plant-shop/service-testing/crash/every-point';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import { contextFor, startService, TestCaller } from '@plant-shop/service-testing/service';
import { startNats } from '@plant-shop/testing/nats';
import pg from 'pg';
import { migrationsFolder } from './database.js';
import type { OAuthServer } from './oauth/oauth-server.js';
import type { IdentityOptions } from './options.js';
import { startIdentity } from './identity.module.js';

export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** A principal who may manage every user and pass on every permission. */
export const manager: Principal = {
  subject: '00000000-0000-4000-8000-000000000000',
  permissions,
  shown: ['apiKey'],
};

/** Hashing at 1/30 of production's cost: these tests do not measure it. */
const fastOptions = { hashingCost: { memoryCost: 512, timeCost: 2, parallelism: 1 }, deletionIntervalMs: 50, mailIntervalMs: 50 };

type Config = Parameters<typeof startIdentity>[1];

/** Replicas of identity with their own database and NATS server, and an RPC client that calls them. */
export class TestIdentity {
  private constructor(
    readonly caller: TestCaller,
    readonly sql: pg.Pool,
    readonly natsUrl: string,
    readonly databaseUrl: string,
    private readonly stops: (() => Promise<void>)[],
    private readonly closers: (() => Promise<unknown>)[],
  ) {}

  static async start(changed: Partial<Config> = {}, options: Partial<IdentityOptions> = {}): Promise<TestIdentity> {
    const identity = await TestIdentity.withoutReplica();
    identity.httpPort = (await identity.addReplica(changed, options)).httpPort;
    return identity;
  }

  /** Starts the database, NATS and the RPC client, but no replica. */
  static async withoutReplica(): Promise<TestIdentity> {
    const nats = await startNats();
    const database = await createDatabase(migrationsFolder);
    const sql = new pg.Pool({ connectionString: database.url, max: 2 });
    // `end` resolves before the pool's sockets are closed; `disconnect` then terminates them with 57P01.
    sql.on('error', (error: Error & { code?: string }) => {
      if (error.code !== '57P01') throw error;
    });
    const caller = await TestCaller.connect(nats.url);
    const closers = [() => caller.close(), () => sql.end(), () => database.disconnect(), () => nats.stop()];
    return new TestIdentity(caller, sql, nats.url, database.serviceUrl, [], closers);
  }

  /** Port of the first replica's OAuth pages. */
  httpPort = 0;

  /** Adds a replica in this process, with its own connections, loops and caches on the same database. */
  async addReplica(changed: Partial<Config> = {}, options: Partial<IdentityOptions> = {}): Promise<Replica> {
    const config = { ...testConfig(this.databaseUrl), ...changed };
    await this.sql.query('UPDATE database_mode SET sandbox = $1', [config.sandbox]);
    let pages: OAuthServer | undefined;
    const service = await startService('identity', this.natsUrl, async (started) => {
      const stop = (): Promise<void> => {
        // Clients leave first: their idle connections would prolong the announcement of the end to 2 s.
        pages?.closeIdleConnections();
        return started.stop();
      };
      this.stops.push(stop);
      pages = await startIdentity(started, config, { ...fastOptions, ...options });
    });
    return { service, httpPort: pages?.port ?? 0 };
  }

  /** Starts a testbed for tests in which replicas crash. The test must stop it. */
  startCrashTestbed(): Promise<CrashTestbed> {
    return CrashTestbed.start('identity', this.natsUrl, (service) => startIdentity(service, testConfig(this.databaseUrl), fastOptions));
  }

  /** Counts connections that wait for a lock. Inside a transaction it would return the same count every time. */
  async waitingForLocks(): Promise<number | null> {
    const text = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return (await this.sql.query(text)).rowCount;
  }

  async stopReplicas(): Promise<void> {
    for (const stop of this.stops.splice(0)) await stop();
  }

  async stop(): Promise<void> {
    await this.stopReplicas();
    for (const close of this.closers) await close();
  }

  call<Payload, Answer>(
    operation: Operation<Payload, Answer>,
    payload: Payload,
    principal?: Principal,
  ): Promise<Answer> {
    return this.caller.call(operation, payload, principal);
  }

  /** Calls with an Idempotency-Key. */
  async callOnce<Payload, Answer>(
    operation: Operation<Payload, Answer>,
    payload: Payload,
    key: string,
    principal?: Principal,
  ): Promise<{ readonly answer: Answer; readonly replayed: boolean; readonly version?: number }> {
    const raw = await this.caller.client.callRaw(operation, payload, contextFor(principal), key);
    const { replayed = false, version } = raw;
    const answer = JSON.parse(Buffer.from(raw.payload).toString()) as Answer;
    return { answer, replayed, ...(version !== undefined && { version }) };
  }

  async register(
    given: Partial<{ username: string; password: string; email: string; phone: string }> = {},
  ): Promise<Registered> {
    const username = given.username ?? `user-${randomBytes(6).toString('hex')}`;
    const password = given.password ?? 'a-good-password';
    const user = await this.call(identity.createUser, { user: { ...given, username, password } });
    return { user, username, password };
  }

  async versionOf(username: string): Promise<number> {
    return (await this.caller.client.callRaw(identity.getUser, { username }, contextFor(manager))).version ?? 0;
  }

  login(username: string, password: string, address = '192.0.2.1'): Promise<NewSession> {
    return this.call(identity.login, { username, password, address });
  }

  check(kind: 'session' | 'apiKey', secret: string): Promise<Credential> {
    return this.call(identity.checkCredential, { kind, digest: digestOf(secret) });
  }

  /** Registers a user and logs in. The returned principal holds the session. */
  async registerAndLogin(): Promise<
    Registered & { readonly token: string; readonly userId: string; readonly principal: Principal }
  > {
    const registered = await this.register();
    const { token } = await this.login(registered.username, registered.password);
    const { id, userId, permissions } = await this.check('session', token);
    return { ...registered, token, userId, principal: { subject: userId, permissions, shown: ['session'], shownIds: [id] } };
  }
}

export interface Replica {
  readonly service: Service;
  readonly httpPort: number;
}

export interface Registered {
  readonly user: User;
  readonly username: string;
  readonly password: string;
}

/** Environment of identity as a separate process. */
export const testEnvironment = (databaseUrl: string): Record<string, string> => ({
  NODE_ENV: 'test',
  IDENTITY_DATABASE_URL: databaseUrl,
  IDENTITY_SECRET: testSecret,
  IDENTITY_HTTP_PORT: '0',
  OPS_PORT: '0',
  PUBLIC_URL: 'http://shop.test',
});

export const testSecret = 'a test secret of 32 characters or more';

const testConfig = (databaseUrl: string): Config => ({
  databaseUrl,
  databaseCa: '',
  sandbox: false,
  databasePoolSize: 12,
  publicUrl: 'http://shop.test',
  httpHost: '127.0.0.1',
  httpPort: 0,
  identitySecrets: [testSecret],
  passwordMinLength: 8,
  refuseCommonPasswords: false,
  requireSecondFactor: 'none',
  sessionTtlHours: 24,
  sessionIdleHours: 720,
  staffSessionIdleHours: 12,
  loginLimitPerUser: 20,
  loginLimitPerAddress: 10_000,
  demoData: false,
  maxInFlight: 2_000,
});
