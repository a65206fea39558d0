import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional, Matches } from 'class-validator';
import { readAuditOf } from './audit.js';
import type { Account } from './broker.js';
import type { ErrorCode } from './errors.js';
import { Flag, Integer, OneOf, Text, Texts, Uuid, uuidPattern } from './fields.js';
import { apiKeyOperations } from './identity.api-keys.js';
import { emailOperations } from './identity.email.js';
import { factorOperations } from './identity.factors.js';
import { oauthClientOperations } from './identity.oauth.js';
import { Digest, sessionOperations } from './identity.sessions.js';
import { UserRequest } from './identity.user-request.js';
import { userOperations } from './identity.users.js';
import type { CredentialKind, Permission } from './permissions.js';
import { type RaisedNumber, RaiseNumbers, type ReconciledPage, ReconcileUsers, type UserFinding } from './reconcile.js';
import { AdvanceClock } from './store.sandbox.js';

// Requests

/** Checks a secret by its SHA-256, which is all that leaves the receiving service. Access tokens are verified where received. */
export class CheckCredential {
  @OneOf(['session', 'apiKey'])
  kind: 'session' | 'apiKey';

  @Digest()
  digest: string;
}

/** Looks up the present permissions of a user who may have been deleted: of an access token, or an owner of webhooks. */
export class ResolveSubject {
  @Uuid()
  userId: string;
}

export class ResolveUsername extends UserRequest {}

export class ResolveUserIds {
  /** Enough for a page of the audit log, whose entries name at most four users. */
  @Texts(4_000, 36)
  @Matches(uuidPattern, { each: true, message: 'must contain UUIDs' })
  userIds: string[];
}

export class ResolveOAuthClients {
  @Texts(1_000)
  clientIds: string[];
}

/** Finds users by the beginning of their name, ignoring case. */
export class FindUserIds {
  @Text()
  q: string;

  /** Finds also users with this e-mail address. */
  @Flag()
  byEmail: boolean;
}

/**
 * Reads the revocation log. How to follow it:
 * - Pull every 250 ms, even if the last pull is unanswered, and on a message. An answer is as fresh as the moment when its
 *   pull was sent, on a monotonic clock.
 * - A new follower reads from 0 and gets the entries that may matter to it: of the last two hours, longer than any access token
 *   lives, and at least 10,000. The log retains 48 hours.
 * - The history is broken if `matches` is false, or if `after` is above 0 and either the first entry is not the next one or `head` is
 *   below `after`. Then discard all cached answers, keep refusing what was revoked, and read from 0.
 * - If only `epoch` differs from that of the last answer, discard all cached answers and continue.
 */
export class ReadRevocations {
  /** The last position that the follower knows. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after: number;

  /** Random id of that entry: `lastId` of the page that contained it. */
  @IsOptional()
  @Uuid()
  afterId?: string;
}

// Answers

/** A valid credential with its user and permissions. */
export interface Credential {
  readonly kind: CredentialKind;
  /** Id of the key or session, as in the revocation log. */
  readonly id: string;
  readonly userId: string;
  readonly permissions: readonly Permission[];
  readonly expiresAt?: string;
  /** Position of the revocation log in the snapshot that this answer was read from. */
  readonly position: number;
}

/**
 * An entry of the revocation log. Each but `userChanged` is a permanent revocation: of an API key, a session, a user with all
 * credentials, or an OAuth client; of one access token (`jti`), or of all issued under a user's grant (claim `grant_id`), for a client
 * secret (claim `secret_id`) or with a signing key (header `kid`). When a signing key is revoked, another one is published at the same
 * moment.
 *
 * `userChanged` ends nothing: permissions or expiry of the user's credentials have changed. Discard cached answers and fetch
 * them again; connections stay open as far as the new answers allow.
 */
export interface Revocation {
  readonly position: number;
  readonly kind: 'apiKey' | 'session' | 'user' | 'accessToken' | 'client' | 'grant' | 'clientSecret' | 'signingKey' | 'userChanged';
  readonly id: string;
}

export interface Revocations {
  /** Head of the log at the time of reading. */
  readonly head: number;
  /** Consecutive entries in ascending order, at most 1,000. If the last one is below `head`, more may follow. */
  readonly entries: readonly Revocation[];
  /** False if the log has no entry `after` with the id `afterId`: the database was restored from a backup. */
  readonly matches: boolean;
  /** Random id of the last of `entries`, or of the entry at `head` without entries. Absent if the log is empty. */
  readonly lastId?: string;
  /**
   * Names the running database; not a time. It changes with a restore, a failover or a restart of Postgres, even if the log is the same.
   */
  readonly epoch: string;
  /**
   * The clock of identity's database while it answered, in milliseconds since 1970. Credentials expire by this clock; a
   * follower's own may differ by minutes.
   */
  readonly time: number;
}

/** RFC 7517, public keys only. */
export interface SigningKeys {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

const { read, write } = operationsOf<ErrorCode, Account>('identity');

const authenticators = ['gateway', 'notifications'] as const;

export const identity = {
  ...userOperations,
  ...emailOperations,
  ...sessionOperations,
  ...apiKeyOperations,
  ...factorOperations,
  ...oauthClientOperations,

  checkCredential: read<Credential>()('checkCredential', CheckCredential, { callers: authenticators, errors: ['credential-refused'] }),
  /** Answers a user's present permissions. `credential-refused`: there is no such user. For access tokens and owners of webhooks. */
  resolveSubject: read<{ permissions: Permission[]; position: number }>()('resolveSubject', ResolveSubject, {
    callers: authenticators,
    errors: ['credential-refused'],
  }),
  /** For services that know users only by UUID. */
  resolveUsername: read<{ userId: string }>()('resolveUsername', ResolveUsername, { callers: ['gateway', 'store', 'notifications'], errors: ['user-not-found'] }),
  /** Answers the current names; omits deleted users. */
  resolveUserIds: read<{ userId: string; username: string }[]>()('resolveUserIds', ResolveUserIds, { callers: ['gateway', 'store', 'notifications'] }),
  /** Answers the names of OAuth clients; omits deleted ones. */
  resolveOAuthClients: read<{ clientId: string; name: string }[]>()('resolveOAuthClients', ResolveOAuthClients, { callers: ['store'] }),
  /** Answers at most 100 users. */
  findUserIds: read<{ userIds: string[] }>()('findUserIds', FindUserIds, { callers: ['store'] }),
  readRevocations: read<Revocations>()('readRevocations', ReadRevocations, { callers: authenticators }),
  readSigningKeys: read<SigningKeys>()('readSigningKeys', NoPayload, { callers: authenticators }),

  /** Advances identity's sequences beyond the numbers that the store knows. */
  raiseNumbers: write<{ raised: RaisedNumber[] }>()('raiseNumbers', RaiseNumbers, { callers: ['operator'] }),
  /** Compares a page of the store's customers with the users and repairs differences. Safe to repeat. */
  reconcileUsers: write<ReconciledPage<UserFinding, string>>()('reconcileUsers', ReconcileUsers, { callers: ['operator'] }),
  /** Only in a sandbox, and only for the scope `all`. The store's part of it is the operation of clients. */
  advanceClock: write<Record<string, never>>()('advanceClock', AdvanceClock),
  readAudit: readAuditOf('identity'),
};

export { Login, Logout, type NewSession } from './identity.sessions.js';
export * from './identity.users.js';
