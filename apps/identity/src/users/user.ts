import { DomainError } from '@plant-shop/contracts/errors';
import type { User } from '@plant-shop/contracts/identity';
import type { Role } from '@plant-shop/contracts/permissions';
import type { FieldError } from '@plant-shop/platform/errors';
import type { CommonPasswords } from '../passwords/common-passwords.js';
import type { Principal } from '@plant-shop/platform/rpc/principal';

/** A user as the table keeps it; absent fields are null. */
export interface UserRecord {
  readonly userId: string;
  readonly id: number;
  readonly username: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly userStatus: number | null;
  readonly role: Role;
  readonly version: number;
}

/**
 * What names are compared by. Only ASCII is folded, like the table's own column: `toLowerCase` on the whole would make
 * a k of a Kelvin sign, and so find a user under a name that is not theirs.
 */
export const usernameKey = (username: string): string => username.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());

const present = <T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as { [K in keyof T]?: NonNullable<T[K]> };

/** What everybody may see. */
export const publicProfile = ({ id, username, firstName, lastName, userStatus }: UserRecord): User =>
  ({ id, username, ...present({ firstName, lastName, userStatus }) });

/** What the user sees. */
export const fullProfile = ({ id, username, firstName, lastName, email, phone, userStatus }: UserRecord): User =>
  ({ id, username, ...present({ firstName, lastName, email, phone, userStatus }) });

/** What `write:users` sees. */
export const managedProfile = (user: UserRecord): User => ({ ...fullProfile(user), role: user.role });

/** As much of a user as the caller may see. */
export function profileFor(caller: Principal | undefined, user: UserRecord): User {
  if (managesUsers(caller)) return managedProfile(user);
  return mayManage(caller, user) ? fullProfile(user) : publicProfile(user);
}

const managesUsers = (caller: Principal | undefined): boolean => caller?.permissions.includes('write:users') ?? false;

/** @throws DomainError `forbidden` */
export function assertManagesUsers(caller: Principal): void {
  if (!managesUsers(caller)) throw new DomainError('forbidden', 'Use a credential with write:users.');
}

/**
 * Whether the caller may see and change everything of this user: the user in person, with a session, or `write:users`.
 * An API key or token of the user is not the user in person: it must not be able to make itself another key or
 * password.
 */
export const mayManage = (caller: Principal | undefined, user: Pick<UserRecord, 'userId'> | undefined): boolean =>
  managesUsers(caller) || (caller !== undefined && caller.subject === user?.userId && caller.shown.includes('session'));

/**
 * Narrows to a user that is there and that the caller may manage. Who may not manage users at all is told so before,
 * and whether or not, the user exists.
 * @throws DomainError `forbidden`, `user-not-found`
 */
export function managed<T extends Pick<UserRecord, 'userId'>>(caller: Principal, user: T | undefined): T {
  if (!mayManage(caller, user)) {
    throw new DomainError('forbidden', 'Log in as this user, or use a credential with write:users.');
  }
  if (!user) throw userNotFound();
  return user;
}

export const userNotFound = (): DomainError => new DomainError('user-not-found', 'There is no user of this name.');

/** @throws DomainError `precondition-failed` */
export function assertVersion(user: Pick<UserRecord, 'version'>, expected: number | undefined): void {
  if (expected === undefined || user.version === expected) return;
  throw new DomainError('precondition-failed', 'The user was changed meanwhile. Read it again and decide anew.');
}

export interface PasswordRules {
  readonly minLength: number;
  readonly common: CommonPasswords;
}

export function passwordFaults(password: string, { minLength, common }: PasswordRules, parent: string): FieldError[] {
  const fault = (detail: string): FieldError[] => [{ pointer: `${parent}/password`, detail }];
  if (password.length < minLength) return fault(`must have at least ${minLength} characters`);
  if (common.has(password)) return fault('is one of those that are guessed first; choose another one');
  return [];
}

/** A user to be created: where the caller sent it, and what must be unique. */
export interface Candidate {
  readonly pointer: string;
  readonly username: string;
  /** 0: to be assigned. */
  readonly id: number;
}

export interface Conflict {
  readonly code: 'username-taken' | 'user-id-taken';
  readonly fault: FieldError;
}

/**
 * Names and ids that the list holds twice, or that others have. `others` may hold any ids and keys of names; each later
 * one of a pair is at fault.
 */
export function conflictsOf(
  candidates: readonly Candidate[],
  others: { readonly keys: ReadonlySet<string>; readonly ids: ReadonlySet<number> },
): Conflict[] {
  const keys = new Set(others.keys);
  const ids = new Set(others.ids);
  return candidates.flatMap(({ pointer, username, id }) => {
    const conflicts: Conflict[] = [];
    const key = usernameKey(username);
    if (keys.has(key)) conflicts.push(usernameTaken(pointer));
    if (id && ids.has(id)) conflicts.push(userIdTaken(pointer));
    keys.add(key);
    if (id) ids.add(id);
    return conflicts;
  });
}

export const usernameTaken = (parent: string): Conflict => ({
  code: 'username-taken',
  fault: { pointer: `${parent}/username`, detail: 'is taken; choose another one' },
});

export const userIdTaken = (parent: string): Conflict => ({
  code: 'user-id-taken',
  fault: { pointer: `${parent}/id`, detail: 'is taken; leave it out to have one assigned' },
});

const texts: Readonly<Record<Conflict['code'], string>> = {
  'username-taken': 'Choose another username.',
  'user-id-taken': 'Choose another id, or leave it out to have one assigned.',
};

/** @throws DomainError with the code of the first conflict and the faults of all */
export function refuseConflicts(conflicts: readonly Conflict[]): void {
  const [first] = conflicts;
  if (first) throw new DomainError(first.code, texts[first.code], { errors: conflicts.map(({ fault }) => fault) });
}
