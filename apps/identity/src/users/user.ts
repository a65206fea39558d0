import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '@plant-shop/contracts/errors';
import type { User } from '@plant-shop/contracts/identity';
import { contain, type Permission, permissionsOfRole, type Role } from '@plant-shop/contracts/permissions';
import type { FieldError } from '@plant-shop/platform/errors';
import type { CommonPasswords } from '../passwords/common-passwords.js';
import { normalizedPassword } from '../passwords/password-hasher.js';
import type { Actor } from '@plant-shop/platform/patterns/audit-log';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { UserEntity } from '../database.js';

/** A user as read from the database. */
export type UserRecord = Omit<UserEntity, 'passwordHash'>;

/**
 * Returns the form by which names are compared. Folds ASCII only, like the column `username_key`: `toLowerCase` would turn a
 * Kelvin sign into a k, and so find a user by another name.
 */
export const usernameKey = (username: string): string => username.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());

const withoutNulls = <T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as { [K in keyof T]?: NonNullable<T[K]> };

/** Returns the fields that everyone may see. */
const publicProfile = ({ id, username, firstName, lastName, userStatus }: UserRecord): User =>
  ({ id, username, ...withoutNulls({ firstName, lastName, userStatus }) });

/** Returns the fields that the user may see. */
const fullProfile = ({ id, username, firstName, lastName, email, emailVerifiedAt, phone, orderMails, userStatus, updatedAt }: UserRecord): User => ({
  id,
  username,
  ...withoutNulls({ firstName, lastName, email, phone, userStatus }),
  ...(email !== null && { emailVerified: emailVerifiedAt !== null }),
  orderMails,
  updatedAt: updatedAt.toISOString(),
});

/** Returns the fields that whoever registered the user may see: only callers with `write:users` can have set the others. */
export const registeredProfile = (user: UserRecord): User => ({ ...fullProfile(user), ...withoutNulls({ externalId: user.externalId, metadata: user.metadata }) });

/** Returns the fields that callers with `write:users` may see. */
export const managedProfile = (user: UserRecord): User => ({ ...registeredProfile(user), role: user.role });

/** Returns the fields that the principal may see. */
export function profileFor(principal: Principal | undefined, user: UserRecord): User {
  if (managesUsers(principal)) return managedProfile(user);
  return mayManage(principal, user) ? fullProfile(user) : publicProfile(user);
}

const managesUsers = (principal: Principal | undefined): boolean => principal?.permissions.includes('write:users') ?? false;

/**
 * Checks that the principal may give a user this external id and metadata. Those that the user has already change nothing.
 * @throws DomainError `forbidden`
 */
export function assertMaySetExternals(
  principal: Principal | undefined,
  { externalId, metadata }: Partial<Pick<UserRecord, 'externalId' | 'metadata'>>,
  before: Pick<UserRecord, 'externalId' | 'metadata'> = { externalId: null, metadata: null },
): void {
  const changes = (externalId !== undefined && externalId !== before.externalId) || (metadata !== undefined && !isDeepStrictEqual(metadata, before.metadata));
  if (!changes || managesUsers(principal)) return;
  throw new DomainError('forbidden', 'Leave externalId and metadata out, or use a credential with write:users.');
}

/** @throws DomainError `forbidden` */
export function assertManagesUsers(principal: Principal): void {
  if (!managesUsers(principal)) throw new DomainError('forbidden', 'Use a credential with write:users.');
}

/**
 * Returns whether the principal may see and change everything of this user. That takes a session of the user, or `write:users`.
 * An API key or access token of the user is not enough: it must not be able to create another key or set a password.
 */
export const mayManage = (principal: Principal | undefined, user: Pick<UserRecord, 'userId'> | undefined): boolean =>
  managesUsers(principal) || hasSessionOf(principal, user);

const hasSessionOf = (principal: Principal | undefined, user: Pick<UserRecord, 'userId'> | undefined): boolean =>
  principal !== undefined && principal.subject === user?.userId && principal.shown.includes('session');

/**
 * Returns the user if the principal may manage it. Throws `forbidden` whether or not the user exists, so that principals without
 * `write:users` cannot enumerate usernames.
 * @throws DomainError `forbidden`, `user-not-found`
 */
export function requireManageable<T extends Pick<UserRecord, 'userId'>>(principal: Principal, user: T | undefined): T {
  if (!mayManage(principal, user)) {
    throw new DomainError('forbidden', 'Log in as this user, or use a credential with write:users.');
  }
  if (!user) throw userNotFound();
  return user;
}

/**
 * Checks that the principal has all permissions that it is about to pass on. Otherwise a credential with `write:users` alone could
 * make one with every permission (docs/decisions/credentials-and-permissions.md).
 * @throws DomainError `forbidden`
 */
export function assertHasAll(principal: Pick<Principal, 'permissions'>, permissions: readonly Permission[]): void {
  const lacking = permissions.filter((one) => !contain(principal.permissions, one));
  if (lacking.length === 0) return;
  throw new DomainError('forbidden', `Use a credential with ${lacking.join(', ')}: none can pass on permissions that it lacks.`);
}

/**
 * Checks that the principal may set the user's password, with which anyone can log in and have all of the user's permissions.
 * @throws DomainError `forbidden`
 */
export function assertMaySetPassword(principal: Principal, user: Pick<UserRecord, 'userId' | 'role'>): void {
  if (!hasSessionOf(principal, user)) assertHasAll(principal, permissionsOfRole[user.role]);
}

/** Returns the permissions that a change of role adds. */
export const permissionsGained = (before: Role, after: Role): Permission[] =>
  permissionsOfRole[after].filter((one) => !permissionsOfRole[before].includes(one));

/** Returns the actor of a change that a user makes by the link of a mail, without another credential. */
export const byMailLink = (requestId: string, userId: string): Actor => ({ requestId, subject: userId, credentials: [{ kind: 'mailLink' }] });

export const userNotFound = (): DomainError => new DomainError('user-not-found', 'There is no user with this name.');

/** @throws DomainError `precondition-failed` */
export function assertVersion(user: Pick<UserRecord, 'version'>, expected: number | undefined): void {
  if (expected === undefined || user.version === expected) return;
  throw new DomainError('precondition-failed', 'The user has changed since you read it. Read it again before you change it.');
}

export interface PasswordRules {
  readonly minLength: number;
  readonly common: CommonPasswords;
  /** Whether a password may be the name or e-mail address of its user, or the shop's name. */
  readonly allowsNames: boolean;
}

const shopName = 'plantshop';

/**
 * Checks the normalized password, whose characters are its code points.
 * @param owner whose password it is to be
 */
export function passwordErrors(
  password: string,
  { minLength, common, allowsNames }: PasswordRules,
  parent: string,
  owner: { readonly username: string; readonly email?: string | null },
): FieldError[] {
  const error = (detail: string): FieldError[] => [{ pointer: `${parent}/password`, detail }];
  const normalized = normalizedPassword(password);
  if (Array.from(normalized).length < minLength) return error(`must have at least ${minLength} characters`);
  if (common.has(normalized)) return error('is too common; choose another');
  if (allowsNames) return [];
  const folded = normalized.toLowerCase();
  if ([owner.username, owner.email].some((one) => one?.toLowerCase() === folded)) return error('must not be your username or e-mail address');
  if (folded.replaceAll(/[^a-z0-9]/g, '') === shopName) return error("must not be the shop's name");
  return [];
}

/** A user to be created: its place in the request and its unique fields. */
export interface Candidate {
  readonly pointer: string;
  readonly username: string;
  /** 0 lets the service assign one. */
  readonly id: number;
  readonly externalId?: string | null | undefined;
}

export interface Conflict {
  readonly code: 'username-taken' | 'user-id-taken' | 'external-id-exists';
  readonly error: FieldError;
}

/**
 * Returns conflicts of names and ids within the list and with other users. Of two equal entries, the later one conflicts.
 * @param others name keys, ids and external ids in use, at least those that equal a candidate's
 */
export function conflictsOf(
  candidates: readonly Candidate[],
  others: { readonly keys: ReadonlySet<string>; readonly ids: ReadonlySet<number>; readonly externalIds: ReadonlySet<string> },
): Conflict[] {
  const keys = new Set(others.keys);
  const ids = new Set(others.ids);
  const externalIds = new Set(others.externalIds);
  return candidates.flatMap(({ pointer, username, id, externalId }) => {
    const conflicts: Conflict[] = [];
    const key = usernameKey(username);
    if (keys.has(key)) conflicts.push(usernameTaken(pointer));
    if (id && ids.has(id)) conflicts.push(userIdTaken(pointer));
    if (externalId && externalIds.has(externalId)) conflicts.push(externalIdTaken(pointer));
    keys.add(key);
    if (id) ids.add(id);
    if (externalId) externalIds.add(externalId);
    return conflicts;
  });
}

export const usernameTaken = (parent: string): Conflict => ({
  code: 'username-taken',
  error: { pointer: `${parent}/username`, detail: 'is already taken; choose another' },
});

export const userIdTaken = (parent: string): Conflict => ({
  code: 'user-id-taken',
  error: { pointer: `${parent}/id`, detail: 'is already taken; omit it to have one assigned' },
});

export const externalIdTaken = (parent: string): Conflict => ({
  code: 'external-id-exists',
  error: { pointer: `${parent}/externalId`, detail: 'is that of another user' },
});

const messages: Readonly<Record<Conflict['code'], string>> = {
  'username-taken': 'Choose another username.',
  'user-id-taken': 'Choose another id, or omit it to have one assigned.',
  'external-id-exists': 'Another user has this external id. List users by it to find the user.',
};

/** @throws DomainError with the code of the first conflict and the errors of all */
export function assertNoConflicts(conflicts: readonly Conflict[]): void {
  const [first] = conflicts;
  if (first) throw new DomainError(first.code, messages[first.code], { errors: conflicts.map(({ error }) => error) });
}
