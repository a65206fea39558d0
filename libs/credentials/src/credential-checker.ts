import { type Credential, identity } from '@plant-shop/contracts/identity';
import type { CredentialKind, Permission, TokenResource } from '@plant-shop/contracts/permissions';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { type AccessToken, AccessTokens, refused, revocationKeysOf } from './access-tokens.js';
import { type Authentication, CredentialRefused } from './authentication.js';
import type { PresentedCredentials } from './presented-credentials.js';
import { revocationKey, type RevocationLog } from './revocation-log.js';

/** Identity's answer about the user of an access token. */
interface UserPermissions {
  readonly userId: string;
  readonly permissions: readonly Permission[];
  readonly position: number;
}

/** A credential that was found valid, of any kind. */
interface ValidCredential {
  readonly kind: CredentialKind;
  /** Of the key or session; for an access token, of its client. */
  readonly id: string;
  readonly userId: string;
  readonly permissions: readonly Permission[];
  /** Keys of the entries of the revocation log that revoke it. */
  readonly revokedBy: readonly string[];
  readonly expiresAt?: number;
  /** The authentication of requests that present nothing else, which are the most: composed once, not for each request. */
  readonly alone?: Authentication;
}

const maxEntries = 10_000;
/** Answers are fetched again after this, which bounds the age of a user's role and of "last used". */
const maxAgeMs = 60_000;

export interface CredentialCheckerOptions {
  readonly publicUrl: string;
  readonly requestBudgetMs: number;
}

/** Authenticates requests by their credentials. */
export class CredentialChecker {
  /** Sessions and API keys, which identity checks. */
  private readonly opaqueCredentials: CredentialCache<ValidCredential & LogPositioned>;
  /** Access tokens, which this process verifies; their users' permissions come from identity. */
  private readonly verifiedTokens: CredentialCache<AccessToken & { position: number }>;
  private readonly permissionsOfUsers: CredentialCache<UserPermissions>;
  private readonly tokens: AccessTokens;

  constructor(
    private readonly rpc: RpcClient,
    private readonly log: RevocationLog,
    private readonly options: CredentialCheckerOptions,
  ) {
    this.tokens = new AccessTokens({
      publicUrl: options.publicUrl,
      readKeys: () => this.rpc.call(identity.readSigningKeys, {}, this.context('keys')),
      identityTime: () => log.identityTime(),
    });
    log.addListener({
      revoked: (entries) => {
        if (entries.some(({ kind }) => kind === 'signingKey')) this.tokens.forgetKeys();
      },
      forget: () => this.tokens.forgetKeys(),
    });
    this.opaqueCredentials = new CredentialCache(log, {
      maxEntries,
      maxAgeMs,
      expiresAt: ({ expiresAt }) => expiresAt,
      isRevokedBy: ({ revokedBy, userId }, revoked) => revokedBy.some((key) => revoked.has(key)) || isOutdated(userId, revoked),
    });
    this.permissionsOfUsers = new CredentialCache(log, {
      maxEntries,
      maxAgeMs,
      isRevokedBy: ({ userId }, revoked) => isOutdated(userId, revoked),
    });
    this.verifiedTokens = new CredentialCache(log, {
      maxEntries,
      maxAgeMs,
      expiresAt: ({ expiresAt }) => expiresAt,
      isRevokedBy: (token, revoked) => revocationKeysOf(token).some((key) => revoked.has(key)),
    });
  }

  /**
   * Returns the authentication if the answers for all presented credentials are cached; does not ask identity.
   * @param resource what an access token must be for
   * @throws CredentialRefused for a verified access token that was revoked since, or is for another resource
   */
  findCached(presented: PresentedCredentials, resource: TokenResource = '/v3'): Authentication | undefined {
    if (!this.log.isFresh) return undefined;
    const checked: ValidCredential[] = [];
    for (const kind of ['session', 'apiKey'] as const) {
      const digest = presented[kind];
      if (digest === undefined) continue;
      const credential = this.opaqueCredentials.get(`${kind}:${digest}`);
      if (!credential) return undefined;
      checked.push(credential);
    }
    if (presented.accessToken !== undefined) {
      const token = this.verifiedTokens.get(presented.accessToken.digest);
      const user = token && this.permissionsOfUsers.get(token.userId);
      if (!user) return undefined;
      checked.push(this.fromToken(token, user, resource));
    }
    return toAuthentication(checked, presented);
  }

  /**
   * Checks all presented credentials, asking identity about those that are not cached.
   * @throws CredentialRefused when one of them is not valid; CodedError `unavailable` when that cannot be determined now
   */
  async check(presented: PresentedCredentials, requestId: string, traceparent?: string, resource: TokenResource = '/v3'): Promise<Authentication> {
    const context = (): RpcContext => this.context(requestId, traceparent);
    await this.log.ensureFresh();
    const checks: Promise<ValidCredential>[] = [];
    for (const kind of ['session', 'apiKey'] as const) {
      const digest = presented[kind];
      if (digest !== undefined) checks.push(this.checkOpaque(kind, digest, context));
    }
    if (presented.accessToken !== undefined) checks.push(this.checkToken(presented.accessToken, resource, context));
    return toAuthentication(await Promise.all(checks), presented);
  }

  private checkOpaque(kind: 'session' | 'apiKey', digest: string, context: () => RpcContext): Promise<ValidCredential> {
    return this.opaqueCredentials.getOrFetch(`${kind}:${digest}`, async () => {
      const answer = await this.rpc.call(identity.checkCredential, { kind, digest }, context());
      const credential = fromOpaque(answer);
      // A restore may have lost the revocation in identity's database; this process keeps refusing what it has seen revoked.
      if (credential.revokedBy.some((key) => this.log.isRevoked(key))) throw new CredentialRefused('credential-refused', revokedText);
      return { ...credential, position: answer.position, alone: toAuthentication([credential], { [kind]: digest }) };
    });
  }

  private async checkToken({ jwt, digest }: NonNullable<PresentedCredentials['accessToken']>, resource: TokenResource, context: () => RpcContext): Promise<ValidCredential> {
    const token = await this.verifiedTokens.getOrFetch(digest, async () => ({
      ...(await this.tokens.verify(jwt)),
      // Verification reads nothing from identity that a revocation changes; that is looked up at each use.
      position: this.log.position,
    }));
    const user = await this.permissionsOfUsers.getOrFetch(token.userId, async () => ({
      ...(await this.rpc.call(identity.resolveSubject, { userId: token.userId }, context())),
      userId: token.userId,
    }));
    return this.fromToken(token, user, resource);
  }

  private fromToken(token: AccessToken, user: UserPermissions, resource: TokenResource): ValidCredential {
    if (token.resource !== resource) throw refused();
    const revokedBy = [...revocationKeysOf(token), revocationKey('user', token.userId)];
    if (revokedBy.some((key) => this.log.isRevoked(key))) {
      throw new CredentialRefused('credential-refused', 'The access token was revoked. Get a new one.');
    }
    return {
      kind: 'accessToken',
      id: token.clientId,
      userId: token.userId,
      permissions: token.permissions.filter((one) => user.permissions.includes(one)),
      revokedBy,
      expiresAt: token.expiresAt,
    };
  }

  private context(requestId: string, traceparent?: string): RpcContext {
    return new RpcContext(requestId, Deadline.in(this.options.requestBudgetMs), undefined, traceparent);
  }
}

/** Whether answers about a user are out of date: the user was deleted, or their role or keys changed. */
const isOutdated = (userId: string, revoked: ReadonlySet<string>): boolean =>
  revoked.has(revocationKey('user', userId)) || revoked.has(revocationKey('userChanged', userId));

const revokedText = 'The credential was revoked. Log in or use another one.';

const fromOpaque = (credential: Credential): ValidCredential => ({
  kind: credential.kind,
  id: credential.id,
  userId: credential.userId,
  permissions: credential.permissions,
  revokedBy: [revocationKey(credential.kind, credential.id), revocationKey('user', credential.userId)],
  ...(credential.expiresAt !== undefined && { expiresAt: Date.parse(credential.expiresAt) }),
});

/** The first of these kinds determines the acting user. */
const precedence: readonly CredentialKind[] = ['session', 'apiKey', 'accessToken'];

/**
 * Combines the permissions of the acting user's credentials. Those of other users add nothing, but their end ends the authentication
 * too, since every credential that is presented must be valid.
 */
function toAuthentication(checked: readonly ValidCredential[], presented: PresentedCredentials): Authentication {
  const [only] = checked;
  if (only?.alone && checked.length === 1) return only.alone;
  const [first] = [...checked].sort((a, b) => precedence.indexOf(a.kind) - precedence.indexOf(b.kind));
  if (!first) throw new Error('an authentication needs at least one credential');
  const own = checked.filter(({ userId }) => userId === first.userId);
  const others = checked.filter(({ userId }) => userId !== first.userId);
  return {
    principal: {
      subject: first.userId,
      permissions: own.length === 1 ? first.permissions : [...new Set(own.flatMap((one) => one.permissions))],
      shown: own.map((one) => one.kind),
      shownIds: own.map((one) => one.id),
      ...(others.length > 0 && { otherCredentials: others.map(({ kind, id, userId }) => ({ kind, id, subject: userId })) }),
    },
    client: `user:${first.userId}`,
    revokedBy: checked.length === 1 ? first.revokedBy : checked.flatMap((one) => one.revokedBy),
    expiresAt: Math.min(...checked.map((one) => one.expiresAt ?? Infinity)),
    ...(presented.session !== undefined && { sessionDigest: presented.session }),
  };
}

/** An answer from identity, with the position of the revocation log in the snapshot that it was read from. */
export interface LogPositioned {
  readonly position: number;
}

export interface CredentialCacheOptions<T> {
  readonly maxEntries: number;
  /** Milliseconds after which an answer is fetched again; `expiresAt` may end it earlier. */
  readonly maxAgeMs: number;
  /** When the answer expires: milliseconds since 1970, by identity's clock; undefined for never. */
  readonly expiresAt?: (answer: T) => number | undefined;
  /**
   * Whether to discard the answer.
   * @param revoked keys (`revocationKey`) of new entries; also of `userChanged`, after which the answer is only out of date
   */
  readonly isRevokedBy: (answer: T, revoked: ReadonlySet<string>) => boolean;
}

interface CacheEntry<T> {
  readonly answer: T;
  /** When the answer is fetched again, in milliseconds by this process's monotonic clock. */
  readonly staleAt: number;
  /** When the answer expires: milliseconds since 1970, by identity's clock; Infinity for never. */
  readonly expiresAt: number;
  /** Since it was stored, or spared from eviction. */
  wasUsed: boolean;
}

interface PendingRequest<T> {
  readonly answer: Promise<T>;
  /** The number of breaks in the revocation log's history when the request was sent. */
  readonly generation: number;
}

/**
 * A cache of identity's answers, valid while the revocation log is followed. An answer from before the log's position may
 * lack a revocation that this process has seen and will not see again: it serves the request that fetched it, and is not
 * cached. `CredentialChecker` uses the cache only while the last answered pull of the log was sent at most a second ago.
 */
export class CredentialCache<T extends LogPositioned> {
  private readonly entries = new Map<string, CacheEntry<T>>();
  private readonly pending = new Map<string, PendingRequest<T>>();

  constructor(
    private readonly log: Pick<RevocationLog, 'addListener' | 'position' | 'generation' | 'identityTime'>,
    private readonly options: CredentialCacheOptions<T>,
    private readonly now: () => number = () => performance.now(),
  ) {
    log.addListener({
      revoked: (entries) => this.evict(new Set(entries.map(({ kind, id }) => revocationKey(kind, id)))),
      forget: () => this.entries.clear(),
    });
  }

  /** Returns the cached answer. The caller must have just checked that the log is fresh. */
  get(key: string): T | undefined {
    const found = this.entries.get(key);
    if (found === undefined || found.staleAt <= this.now() || found.expiresAt <= this.log.identityTime()) return undefined;
    found.wasUsed = true;
    return found.answer;
  }

  /** Returns the cached answer or fetches one. Concurrent calls for one key share a fetch. */
  async getOrFetch(key: string, fetch: () => Promise<T>): Promise<T> {
    const cached = this.get(key);
    if (cached !== undefined) return cached;
    const { position } = this.log;
    const shared = this.pending.get(key);
    if (shared?.generation === this.log.generation) {
      const answer = await shared.answer;
      // The shared answer may predate a revocation that was known here when this call began.
      if (answer.position >= position && shared.generation === this.log.generation) return answer;
    }
    return this.fetchAndStore(key, fetch);
  }

  private async fetchAndStore(key: string, fetch: () => Promise<T>): Promise<T> {
    const request: PendingRequest<T> = { answer: fetch(), generation: this.log.generation };
    this.pending.set(key, request);
    try {
      const answer = await request.answer;
      if (answer.position >= this.log.position && request.generation === this.log.generation) this.store(key, answer);
      return answer;
    } finally {
      if (this.pending.get(key) === request) this.pending.delete(key);
    }
  }

  private store(key: string, answer: T): void {
    const expiresAt = this.options.expiresAt?.(answer) ?? Infinity;
    this.entries.delete(key);
    if (this.entries.size >= this.options.maxEntries) this.evictOldest();
    this.entries.set(key, { answer, staleAt: this.now() + this.options.maxAgeMs, expiresAt, wasUsed: false });
  }

  /** Spares each answer once that was used ("second chance"): moving it at each use would cost every request. */
  private evictOldest(): void {
    for (const [key, oldest] of this.entries) {
      this.entries.delete(key);
      if (!oldest.wasUsed) return;
      oldest.wasUsed = false;
      this.entries.set(key, oldest);
    }
  }

  private evict(revoked: ReadonlySet<string>): void {
    for (const [key, { answer }] of this.entries) {
      if (this.options.isRevokedBy(answer, revoked)) this.entries.delete(key);
    }
  }
}
