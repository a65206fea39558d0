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
    // In any case of letters; an expression in JSON Schema has no flag that says so.
    { pattern: '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$', description: 'Not login, logout or createWithList.' },
  );
const username = /^(?!(?:login|logout|createwithlist)$)[a-z0-9][a-z0-9._@+-]{0,63}$/i;

// What clients send

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
  @Description('Its least length is a setting of the shop.')
  password: string;
}

/** Changes the given fields. */
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

// What services ask

export class CreateUser {
  @ObjectOf(() => NewUser)
  user: NewUser;
}

export class CreateUsers {
  @ObjectsOf(() => NewUser, { size: 500, min: 1 })
  users: NewUser[];
}

export class GetUser extends UserRequest {}

/** In the order of their names, whose upper and lower case do not differ. */
export class ListUsers extends PageRequest {
  @IsOptional()
  @Text({ min: 0, max: 64 })
  @Description('Users whose names begin with this.')
  q?: string;

  @IsOptional()
  @OneOf(roles)
  @Description('Users who have this role.')
  role?: Role;
}

export class UpdateUser extends UserRequest {
  @ObjectOf(() => UserChanges)
  user: UserChanges;

  /** SHA-256 of the session token that the caller showed, if any: the one session that a new password leaves alive. */
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

  /** What the client calls itself, for the user's list of sessions. */
  @IsOptional()
  @Text()
  userAgent?: string;
}

/** Ends a session by the SHA-256 of its token; one that does not exist is no error. */
export class Logout {
  @Digest()
  digest: string;
}

/** From whoever was shown a secret: its SHA-256, never itself. Access tokens are checked where they are shown. */
export class CheckCredential {
  @OneOf(['session', 'apiKey'])
  kind: 'session' | 'apiKey';

  @Digest()
  digest: string;
}

/** The owner of an OAuth client or the subject of its tokens must still exist: what a valid access token leads to. */
export class ResolveSubject {
  @Uuid()
  userId: string;
}

export class ResolveUsername extends UserRequest {}

export class ResolveUserIds {
  @Texts(1_000, 36)
  @Matches(uuidPattern, { each: true, message: 'must hold UUIDs' })
  userIds: string[];
}

/**
 * How to follow the log: pull this every 250 ms, whether the last pull was answered or not, and on a nudge, and count an
 * answer as fresh from the moment the pull was sent, on a monotonic clock. A follower that starts late reads from 0: it gets
 * the entries that are retained (48 hours, longer than any access token lives). The history is broken when `matches` is false, or
 * when `after` is above 0 and the first entry is not the next one or `head` is below `after`: forget every cached answer, keep
 * refusing what was revoked, and read from 0.
 */
export class ReadRevocations {
  /** The last number that is known. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after: number;

  /** Random id of that entry: `lastId` of the page that it came with. */
  @IsOptional()
  @Uuid()
  afterId?: string;
}

// What it answers

/** Own profile, or with `write:users`; others see the fields of `PublicUser`. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly phone?: string;
  readonly userStatus?: number;
  /** In what callers with `write:users` read. */
  readonly role?: Role;
}

export interface Session {
  /** Shown once, kept only as a hash. */
  readonly token: string;
  readonly expiresAt: string;
  /** Logins that the name may still fail in the present window. */
  readonly attemptsLeft: number;
}

/** What a live credential leads to. */
export interface Credential {
  readonly kind: CredentialKind;
  /** Id of the key or session, as the revocation log names it. */
  readonly id: string;
  readonly userId: string;
  readonly permissions: readonly Permission[];
  readonly expiresAt?: string;
  /** Position of the revocation log in the snapshot that this answer was read from. */
  readonly position: number;
}

/**
 * What is revoked for ever: a key, a session, a user with all credentials, an OAuth client; an access token (`jti`), all
 * that were issued under what a user granted (claim `grant_id`), to who showed a client secret (claim `secret_id`), or that a
 * signing key signed (header `kid`): then another key is published from the same moment on.
 *
 * `userChanged` ends nothing: what the credentials of this user lead to (permissions, expiry) is another thing than was
 * answered before. Forget those answers and ask anew; what was opened with them goes on as far as the new answers allow.
 */
export interface Revocation {
  readonly position: number;
  readonly kind: 'apiKey' | 'session' | 'user' | 'accessToken' | 'client' | 'grant' | 'clientSecret' | 'signingKey' | 'userChanged';
  readonly id: string;
}

export interface Revocations {
  /** Head of the log when this was read. */
  readonly head: number;
  /** In ascending order without a gap, at most 1,000; more may follow when the last one is below `head`. */
  readonly entries: readonly Revocation[];
  /** False when the log has no entry `after` with the id `afterId`: the database was restored from a backup. */
  readonly matches?: boolean;
  /** Random id of the last of `entries`, or of the entry at `head` where there are none. Absent for an empty log. */
  readonly lastId?: string;
  /**
   * The clock of identity's database, read while it answered, in milliseconds since the epoch. Credentials expire by this clock;
   * a follower's own may differ by minutes.
   */
  readonly time?: number;
}

/** RFC 7517, public keys only. */
export interface SigningKeys {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

const { read, write } = operationsOf<ErrorCode>('identity');

export const identity = {
  /** `username-taken` and `user-id-taken` come with the pointer of the field. */
  createUser: write<User>()('createUser', CreateUser, {
    errors: ['username-taken', 'user-id-taken', 'idempotency-key-reused'],
    versioned: true,
  }),
  /** All or none; pointers name the index: `/users/3/username`. */
  createUsers: write<User[]>()('createUsers', CreateUsers, {
    errors: ['username-taken', 'user-id-taken', 'idempotency-key-reused'],
  }),
  getUser: read<User>()('getUser', GetUser, { errors: ['user-not-found'], versioned: true }),
  /** A page. `forbidden`: without `write:users`. */
  listUsers: read<User[]>()('listUsers', ListUsers, { errors: ['invalid-cursor', 'forbidden'] }),
  updateUser: write<User>()('updateUser', UpdateUser, {
    errors: ['user-not-found', 'forbidden', 'username-taken', 'user-id-taken', 'precondition-failed'],
    versioned: true,
  }),
  /** For `write:users`. `last-admin`: nobody else would be an admin. */
  setUserRole: write<User>()('setUserRole', SetUserRole, {
    errors: ['user-not-found', 'forbidden', 'last-admin', 'precondition-failed'],
    versioned: true,
  }),
  /** `user-has-open-orders` comes with `orders` (ids). */
  deleteUser: write<{ username: string }>()('deleteUser', DeleteUser, {
    errors: ['user-not-found', 'forbidden', 'user-has-open-orders', 'last-admin', 'precondition-failed'],
  }),
  /** `login-failed` for a wrong name as for a wrong password; `too-many-logins` comes with `retryAfter` (seconds). */
  login: write<Session>()('login', Login, { errors: ['login-failed', 'too-many-logins'] }),
  logout: write<{ ended: boolean }>()('logout', Logout),
  ...sessionOperations,
  ...apiKeyOperations,
  ...oauthClientOperations,

  checkCredential: read<Credential>()('checkCredential', CheckCredential, { errors: ['credential-refused'] }),
  /** `credential-refused` when the user is gone. */
  resolveSubject: read<{ permissions: Permission[]; position: number }>()('resolveSubject', ResolveSubject, {
    errors: ['credential-refused'],
  }),
  /** For services that know users by their UUID only. */
  resolveUsername: read<{ userId: string }>()('resolveUsername', ResolveUsername, { errors: ['user-not-found'] }),
  /** The names that they have now; whoever is gone is left out. */
  resolveUserIds: read<{ userId: string; username: string }[]>()('resolveUserIds', ResolveUserIds),
  readRevocations: read<Revocations>()('readRevocations', ReadRevocations),
  readSigningKeys: read<SigningKeys>()('readSigningKeys', NoPayload),

  /** Moves the numbers that identity draws beyond those that the store knows. */
  raiseNumbers: write<{ raised: RaisedNumber[] }>()('raiseNumbers', RaiseNumbers),
  /** Compares a page of the store's customers with the users and mends what differs. Repeating it is harmless. */
  reconcileUsers: write<ReconciledPage<UserFinding, string>>()('reconcileUsers', ReconcileUsers),
  readAudit: readAuditOf('identity'),
};
