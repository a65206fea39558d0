import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional, Matches } from 'class-validator';
import { readAuditOf } from './audit.js';
import type { ErrorCode } from './errors.js';
import {
  ExpectedVersion,
  Pattern,
  IdToAssign,
  IdToChange,
  Integer,
  ObjectOf,
  ObjectsOf,
  OneOf,
  PageRequest,
  Text,
  Texts,
  Uuid,
  uuidPattern,
} from './fields.js';
import { apiKeyOperations } from './identity.api-keys.js';
import { oauthClientOperations } from './identity.oauth.js';
import { UserRequest } from './identity.user-request.js';
import { Digest, sessionOperations } from './identity.sessions.js';
import { type CredentialKind, type Permission, type Role, roles } from './permissions.js';
import { type RaisedNumber, RaiseNumbers, type ReconciledPage, ReconcileUsers, type UserFinding } from './reconcile.js';
import { Description } from './schema.js';

/** Published by identity (core NATS, may be lost) when the revocation log has grown; followers then read it. */
export const revocationsSubject = 'identity.revocations';

const Username = (): PropertyDecorator =>
  Pattern(
    username,
    'must be 1 to 64 of A-Z a-z 0-9 . _ @ + -, begin with a letter or digit, and not be login, logout or createWithList',
    // The reserved names are case-insensitive, which a JSON Schema pattern cannot express.
    { pattern: '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$', description: 'Not login, logout or createWithList.' },
  );
const username = /^(?!(?:login|logout|createwithlist)$)[a-z0-9][a-z0-9._@+-]{0,63}$/i;

// Sent by clients

class Profile {
  @IsOptional()
  @Text({ min: 0 })
  firstName?: string;

  @IsOptional()
  @Text({ min: 0 })
  lastName?: string;

  @IsOptional()
  @Text({ min: 0 })
  email?: string;

  @IsOptional()
  @Text({ min: 0 })
  phone?: string;

  @IsOptional()
  @Integer(-2_147_483_648, 2_147_483_647)
  userStatus?: number;
}

export class NewUser extends Profile {
  @IdToAssign()
  id?: number;

  @Username()
  username: string;

  @Text({ max: 256 })
  @Description('The minimum length is a setting of the shop.')
  password: string;
}

/** Changes the fields that are present. */
export class UserChanges extends Profile {
  @IdToChange()
  id?: number;

  @IsOptional()
  @Username()
  username?: string;

  @IsOptional()
  @Text({ max: 256 })
  password?: string;
}

export class RoleAssignment {
  @OneOf(roles)
  role: Role;
}

// Requests

export class CreateUser {
  @ObjectOf(() => NewUser)
  user: NewUser;
}

export class CreateUsers {
  @ObjectsOf(() => NewUser, { size: 500, min: 1 })
  users: NewUser[];
}

export class GetUser extends UserRequest {}

/** Lists users by name, ignoring case. */
export class ListUsers extends PageRequest {
  @IsOptional()
  @Text({ min: 0, max: 64 })
  @Description('Beginning of the username.')
  q?: string;

  @IsOptional()
  @OneOf(roles)
  @Description('Only users with this role.')
  role?: Role;
}

export class UpdateUser extends UserRequest {
  @ObjectOf(() => UserChanges)
  user: UserChanges;

  /** SHA-256 of the caller's session token, if any: the only session that survives a new password. */
  @IsOptional()
  @Digest()
  ownSession?: string;

  @ExpectedVersion()
  ifVersion?: number;
}

export class SetUserRole extends UserRequest {
  @ObjectOf(() => RoleAssignment)
  assignment: RoleAssignment;

  @ExpectedVersion()
  ifVersion?: number;
}

export class DeleteUser extends UserRequest {
  @ExpectedVersion()
  ifVersion?: number;
}

export class Login {
  @Text({ max: 1_000 })
  username: string;

  @Text({ max: 1_000 })
  password: string;

  /** The client's network address, for the limit per address. */
  @Text()
  address: string;

  /** The client's User-Agent, for the user's list of sessions. */
  @IsOptional()
  @Text()
  userAgent?: string;
}

/** Ends a session by the SHA-256 of its token. A session that does not exist is not an error. */
export class Logout {
  @Digest()
  digest: string;
}

/** Checks a secret by its SHA-256, which is all that leaves the receiving service. Access tokens are verified where received. */
export class CheckCredential {
  @OneOf(['session', 'apiKey'])
  kind: 'session' | 'apiKey';

  @Digest()
  digest: string;
}

/** Looks up the user of a valid access token, who may have been deleted since. */
export class ResolveSubject {
  @Uuid()
  userId: string;
}

export class ResolveUsername extends UserRequest {}

export class ResolveUserIds {
  @Texts(1_000, 36)
  @Matches(uuidPattern, { each: true, message: 'must contain UUIDs' })
  userIds: string[];
}

/**
 * Reads the revocation log. How to follow it:
 * - Pull every 250 ms, even if the last pull is unanswered, and on a nudge. An answer is as fresh as the moment when its
 *   pull was sent, on a monotonic clock.
 * - A new follower reads from 0 and gets the retained entries (48 hours, longer than any access token lives).
 * - The history is broken if `matches` is false, or if `after` is above 0 and either the first entry is not the next one or
 *   `head` is below `after`. Then discard all cached answers, keep refusing what was revoked, and read from 0.
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

/** As seen by the user and with `write:users`. Other callers get no `email` and `phone`. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly phone?: string;
  readonly userStatus?: number;
  /** Only for callers with `write:users`. */
  readonly role?: Role;
}

export interface Session {
  /** Returned only once, stored only as a hash. */
  readonly token: string;
  readonly expiresAt: string;
  /** Failed logins still allowed for the name in the current window. */
  readonly attemptsLeft: number;
}

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
 * A permanent revocation: of an API key, a session, a user with all credentials, or an OAuth client; of one access token
 * (`jti`), or of all issued under a user's grant (claim `grant_id`), for a client secret (claim `secret_id`) or with a
 * signing key (header `kid`). When a signing key is revoked, another one is published at the same moment.
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
  readonly matches?: boolean;
  /** Random id of the last of `entries`, or of the entry at `head` without entries. Absent if the log is empty. */
  readonly lastId?: string;
  /**
   * The clock of identity's database while it answered, in milliseconds since the epoch. Credentials expire by this clock; a
   * follower's own may differ by minutes.
   */
  readonly time?: number;
}

/** RFC 7517, public keys only. */
export interface SigningKeys {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

const { read, write } = operationsOf<ErrorCode>('identity');

export const identity = {
  /** Details of `username-taken` and `user-id-taken`: the pointer of the field. */
  createUser: write<User>()('createUser', CreateUser, {
    errors: ['username-taken', 'user-id-taken', 'idempotency-key-reused'],
    versioned: true,
  }),
  /** Creates all or none. Pointers contain the index: `/users/3/username`. */
  createUsers: write<User[]>()('createUsers', CreateUsers, {
    errors: ['username-taken', 'user-id-taken', 'idempotency-key-reused'],
  }),
  getUser: read<User>()('getUser', GetUser, { errors: ['user-not-found'], versioned: true }),
  /** Answers a page. Without `write:users`: `forbidden`. */
  listUsers: read<User[]>()('listUsers', ListUsers, { errors: ['invalid-cursor', 'forbidden'] }),
  updateUser: write<User>()('updateUser', UpdateUser, {
    errors: ['user-not-found', 'forbidden', 'username-taken', 'user-id-taken', 'precondition-failed'],
    versioned: true,
  }),
  /** Requires `write:users`. `last-admin`: no admin would remain. */
  setUserRole: write<User>()('setUserRole', SetUserRole, {
    errors: ['user-not-found', 'forbidden', 'last-admin', 'precondition-failed'],
    versioned: true,
  }),
  /** Details of `user-has-open-orders`: `orders` (ids). */
  deleteUser: write<{ username: string }>()('deleteUser', DeleteUser, {
    errors: ['user-not-found', 'forbidden', 'user-has-open-orders', 'last-admin', 'precondition-failed'],
  }),
  /** `login-failed`: wrong name or password. Details of `too-many-logins`: `retryAfter` (seconds). */
  login: write<Session>()('login', Login, { errors: ['login-failed', 'too-many-logins'] }),
  logout: write<{ ended: boolean }>()('logout', Logout),
  ...sessionOperations,
  ...apiKeyOperations,
  ...oauthClientOperations,

  checkCredential: read<Credential>()('checkCredential', CheckCredential, { errors: ['credential-refused'] }),
  /** `credential-refused`: the user was deleted. */
  resolveSubject: read<{ permissions: Permission[]; position: number }>()('resolveSubject', ResolveSubject, {
    errors: ['credential-refused'],
  }),
  /** For services that know users only by UUID. */
  resolveUsername: read<{ userId: string }>()('resolveUsername', ResolveUsername, { errors: ['user-not-found'] }),
  /** Answers the current names; omits deleted users. */
  resolveUserIds: read<{ userId: string; username: string }[]>()('resolveUserIds', ResolveUserIds),
  readRevocations: read<Revocations>()('readRevocations', ReadRevocations),
  readSigningKeys: read<SigningKeys>()('readSigningKeys', NoPayload),

  /** Advances identity's sequences beyond the numbers that the store knows. */
  raiseNumbers: write<{ raised: RaisedNumber[] }>()('raiseNumbers', RaiseNumbers),
  /** Compares a page of the store's customers with the users and repairs differences. Safe to repeat. */
  reconcileUsers: write<ReconciledPage<UserFinding, string>>()('reconcileUsers', ReconcileUsers),
  readAudit: readAuditOf('identity'),
};
