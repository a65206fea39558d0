import type { NewUser, UserPatch } from '@plant-shop/contracts/identity';
import { mergeMetadata, type MetadataPairs } from '@plant-shop/contracts/fields';
import type { Role } from '@plant-shop/contracts/permissions';
import { type Actor, actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { drawFreeIds } from '@plant-shop/platform/postgres/sequences';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { UserEntity } from '../database.js';
import { hasFactor } from '../factors/factors.repository.js';
import { assertNoConflicts, type Candidate, externalIdTaken, userIdTaken, usernameKey, usernameTaken, type UserRecord } from './user.js';

const columns = `user_id AS "userId", id, username, first_name AS "firstName", last_name AS "lastName", email,
  email_verified_at AS "emailVerifiedAt", phone, order_mails AS "orderMails", user_status AS "userStatus", external_id AS "externalId", metadata, updated_at AS "updatedAt", role, version`;

export async function findUser(db: Reader, username: string): Promise<UserRecord | undefined> {
  const [user] = await db.query<UserRecord>(
    { name: 'find-user', text: `SELECT ${columns} FROM users WHERE username_key = $1` },
    [usernameKey(username)],
  );
  return user;
}

export function findUsernames(
  db: Reader,
  userIds: readonly string[],
): Promise<{ userId: string; username: string }[]> {
  return db.query('SELECT user_id AS "userId", username FROM users WHERE user_id = ANY($1::uuid[])', [userIds]);
}

/** The highest code point: sorts after every continuation of a prefix in the collation "C". */
const lastCodePoint = '\u{10FFFF}';

const range = 'username_key > $1 AND username_key >= $2 AND username_key < $3';

/** A user must meet all conditions. */
export interface UserFilter {
  /** Beginning of the username. */
  readonly q: string;
  /** Beginning of the username, the name or the last name, or the e-mail address. */
  readonly search: string | undefined;
  readonly role: Role | undefined;
  readonly externalId: string | undefined;
  readonly metadata: MetadataPairs | undefined;
}

/** Text as names are written. A database with the locale C knows only the cases of ASCII, so each is searched for. */
const casesOf = (text: string): string[] => [...new Set([text, text.toLowerCase(), text.toUpperCase(), text.toLowerCase().replaceAll(/(^|[\s-])(\p{L})/gu, (letter) => letter.toUpperCase())])];

/** SQL: a user's username, name, last name or e-mail address is what was searched for. @param key, texts numbers of parameters */
function isFoundBy(key: number, texts: readonly number[]): string {
  const names = [`lower(ltrim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')))`, 'lower(last_name)'];
  const conditions = names.flatMap((column) => texts.map((text) => `${column} ~>=~ lower($${text}) AND ${column} ~<~ (lower($${text}) || '${lastCodePoint}')`));
  return [`username_key >= $${key} AND username_key < $${key} || '${lastCodePoint}'`, ...conditions, `lower(email) = lower($${texts[0]})`].join(' OR ');
}

/** Returns users in the order of their names, one more than the page holds. */
export function listUsers(db: Reader, { q, search, role, externalId, metadata }: UserFilter, { after, limit }: PageBounds<string>): Promise<UserRecord[]> {
  const prefix = usernameKey(q);
  const values: unknown[] = [after, prefix, `${prefix}${lastCodePoint}`, limit + 1];
  let name = 'list-users';
  let from = 'users';
  let where = range;
  if (role !== undefined) {
    name += `-of-role-${role}`;
    // A literal: with a parameter, Postgres would read the whole index of names to find a few admins.
    where += ` AND role = '${role}'`;
  }
  if (externalId !== undefined) {
    name += '-by-external-id';
    where += ` AND external_id = $${values.push(externalId)}`;
  }
  if (metadata) {
    name += '-by-metadata';
    // OFFSET keeps Postgres from reading users by name until it has found enough of them.
    from = `(SELECT * FROM users WHERE metadata @> $${values.push(JSON.stringify(metadata))}::jsonb OFFSET 0) AS users`;
  }
  if (search !== undefined) where += ` AND (${isFoundBy(values.push(usernameKey(search)), casesOf(search).map((text) => values.push(text)))})`;
  const text = `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY username_key LIMIT $4`;
  // A search is planned each time: that of a rare name reads the names' indexes, that of a frequent one the order of the page.
  return db.query(search === undefined ? { name, text } : text, values);
}

const findIds: Statement = {
  name: 'find-user-ids',
  text: `(SELECT user_id AS "userId" FROM users WHERE username_key >= $1 AND username_key < $2 ORDER BY username_key LIMIT $5)
         UNION (SELECT user_id FROM users WHERE $4 AND email IS NOT NULL AND lower(email) = lower($3) LIMIT $5) LIMIT $5`,
};

/** Returns users whose name begins with `q`, and those with that e-mail address. */
export async function findUserIds(db: Reader, { q, byEmail }: { readonly q: string; readonly byEmail: boolean }, limit: number): Promise<string[]> {
  const prefix = usernameKey(q);
  const rows = await db.query<{ userId: string }>(findIds, [prefix, `${prefix}${lastCodePoint}`, q, byEmail, limit]);
  return rows.map(({ userId }) => userId);
}

export async function findUserById(db: Reader, userId: string): Promise<UserRecord | undefined> {
  const [user] = await db.query<UserRecord>(
    { name: 'find-user-by-id', text: `SELECT ${columns} FROM users WHERE user_id = $1` },
    [userId],
  );
  return user;
}

/** Returns the user, locked against changes and deletion until the transaction ends. */
export const lockUser = (tx: Transaction, userId: string): Promise<UserRecord | null> =>
  tx.repository(UserEntity).findOne({ where: { userId }, lock: { mode: 'for_no_key_update' } });

export interface StoredPassword {
  readonly userId: string;
  readonly username: string;
  readonly passwordHash: string;
  readonly role: Role;
  readonly hasFactor: boolean;
}

const storedPassword = `SELECT user_id AS "userId", username, password_hash AS "passwordHash", role, ${hasFactor('users.user_id')} AS "hasFactor" FROM users`;

export async function findPasswordOf(db: Reader, userId: string): Promise<StoredPassword | undefined> {
  return (await db.query<StoredPassword>({ name: 'find-password', text: `${storedPassword} WHERE user_id = $1` }, [userId]))[0];
}

export async function findStoredPassword(db: Reader, username: string): Promise<StoredPassword | undefined> {
  return (await db.query<StoredPassword>({ name: 'find-login', text: `${storedPassword} WHERE username_key = $1` }, [usernameKey(username)]))[0];
}

/** Returns which of these names (as keys), ids and external ids are in use. */
export async function findTaken(
  db: Reader,
  candidates: readonly Pick<Candidate, 'username' | 'id' | 'externalId'>[],
): Promise<{ keys: Set<string>; ids: Set<number>; externalIds: Set<string> }> {
  const rows = await db.query<{ key: string; id: number; externalId: string | null }>(
    'SELECT username_key AS key, id, external_id AS "externalId" FROM users WHERE username_key = ANY($1) OR id = ANY($2) OR external_id = ANY($3)',
    [candidates.map((one) => usernameKey(one.username)), candidates.flatMap((one) => one.id || []), candidates.flatMap((one) => one.externalId ?? [])],
  );
  return { keys: new Set(rows.map((row) => row.key)), ids: new Set(rows.map((row) => row.id)), externalIds: new Set(rows.flatMap((row) => row.externalId ?? [])) };
}

// Postgres evaluates the scalar subquery by index, once per id. It may turn NOT EXISTS into a join that reads the whole table.
const drawFree = `
  WITH drawn AS MATERIALIZED (SELECT nextval('assigned_user_ids') AS id FROM generate_series(1, $1))
  SELECT id FROM drawn WHERE (SELECT true FROM users WHERE users.id = drawn.id) IS NULL ORDER BY id`;

/** Draws ids from the sequence that are neither in use nor reserved. */
export async function drawIds(tx: Transaction, count: number, reserved: readonly number[]): Promise<number[]> {
  const excluded = new Set(reserved);
  const ids = await drawFreeIds({ count }, async (values) => {
    const rows = await tx.query<{ id: number }>(drawFree, [values]);
    return rows.map((row) => row.id).filter((id) => !excluded.has(id));
  });
  return ids.slice(0, count);
}

export interface UserToInsert {
  readonly userId: string;
  readonly id: number;
  readonly passwordHash: string;
  readonly role: Role;
  /** Source of the name and profile. */
  readonly user: NewUser;
}

/**
 * Inserts the users whose name and id are free, after waiting for concurrent inserts of the same. Sorts by name, so that
 * two lists with the same names cannot deadlock.
 * @returns the inserted users
 */
export function insertUsers(tx: Transaction, users: readonly UserToInsert[]): Promise<UserRecord[]> {
  return tx.query<UserRecord>(
    `INSERT INTO users (user_id, id, username, first_name, last_name, email, phone, order_mails, user_status, external_id, metadata, password_hash, role)
     SELECT "userId", id, username, "firstName", "lastName", email, phone, coalesce("orderMails", false), "userStatus", "externalId", metadata, "passwordHash", role
     FROM jsonb_to_recordset($1::jsonb) AS t (
       "userId" uuid, id bigint, username text, "firstName" text, "lastName" text, email text, phone text,
       "orderMails" boolean, "userStatus" integer, "externalId" text, metadata jsonb, "passwordHash" text, role text)
     ORDER BY lower(username COLLATE "C") COLLATE "C"
     ON CONFLICT DO NOTHING
     RETURNING ${columns}`,
    [
      JSON.stringify(
        users.map(({ userId, id, passwordHash, role, user }) => {
          const { username, firstName, lastName, email, phone, orderMails, userStatus, externalId, metadata } = user;
          return { userId, id, username, firstName, lastName, email, phone, orderMails, userStatus, externalId, metadata: mergeMetadata(null, metadata, '/user/metadata'), passwordHash, role };
        }),
      ),
    ],
  );
}

const newVersion = { version: (): string => `nextval('user_versions')`, updatedAt: (): string => 'now()' };

/**
 * Changes the given fields. An id of 0 leaves the id as it is.
 * @throws DomainError `username-taken`, `user-id-taken`, `external-id-exists`
 */
export async function changeUser(
  tx: Transaction,
  userId: string,
  { id, ...changes }: Omit<UserPatch, 'password' | 'metadata'> & { readonly metadata?: MetadataPairs | null; readonly passwordHash?: string },
): Promise<UserRecord> {
  const users = tx.repository(UserEntity);
  try {
    await users.update(userId, { ...changes, ...(id && { id }), ...newVersion });
    return await users.findOneByOrFail({ userId });
  } catch (error) {
    const constraint = constraintOf(error);
    if (constraint === 'username_taken') assertNoConflicts([usernameTaken('/user')]);
    if (constraint === 'user_id_taken') assertNoConflicts([userIdTaken('/user')]);
    if (constraint === 'external_id_taken') assertNoConflicts([externalIdTaken('/user')]);
    throw error;
  }
}

export async function setRole(tx: Transaction, userId: string, role: Role): Promise<UserRecord> {
  const users = tx.repository(UserEntity);
  await users.update(userId, { role, ...newVersion });
  return users.findOneByOrFail({ userId });
}

/** Marks the present address as verified. */
export async function setVerified(tx: Transaction, userId: string): Promise<UserRecord> {
  const users = tx.repository(UserEntity);
  await users.update(userId, { emailVerifiedAt: () => 'now()', ...newVersion });
  return users.findOneByOrFail({ userId });
}

/** Returns users with a verified address: the one with this name, and those with this address, regardless of case. */
export function findVerifiedUsers(db: Reader, { username, email }: { readonly username?: string; readonly email?: string }, limit: number): Promise<UserRecord[]> {
  return db.query<UserRecord>(
    {
      name: 'find-verified-users',
      text: `SELECT ${columns} FROM users
             WHERE email_verified_at IS NOT NULL AND (username_key = $1 OR (email IS NOT NULL AND lower(email) = lower($2)))
             ORDER BY created_at LIMIT $3`,
    },
    [username === undefined ? null : usernameKey(username), email ?? null, limit],
  );
}

/**
 * Keeps other transactions from removing an admin until this one ends. Row locks are not enough: two transactions that each
 * remove the other's admin lock different rows and read the old state of the other row (write skew).
 */
export async function lockAdmins(tx: Transaction): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('plant-shop admins'))`);
}

/** Returns whether another admin without a recorded deletion exists. Call it after `lockAdmins`, as a separate statement. */
export async function hasOtherAdmin(tx: Transaction, userId: string): Promise<boolean> {
  const others = await tx.query(
    `SELECT 1 FROM users WHERE role = 'admin' AND user_id <> $1
       AND NOT EXISTS (SELECT 1 FROM user_deletions WHERE user_deletions.user_id = users.user_id)
     LIMIT 1`,
    [userId],
  );
  return others.length > 0;
}

/**
 * Deletes the user. Sessions, API keys, OAuth payloads, OAuth clients and the intent of the deletion go by cascade. Run `deleteClientsOf`
 * first: it returns the clients, whose revocation must be logged.
 * @returns false if there is no such user
 */
export const deleteUser = async (tx: Transaction, userId: string): Promise<boolean> =>
  (await tx.repository(UserEntity).delete(userId)).affected === 1;

/** The kind of credential that the audit log shows beside the session of a user who used the page "Your account". */
export const accountPageKind = 'accountPage';

/** Whether an effect of this actor on a user belongs into the audit log: of others, and of the user on the page "Your account". */
export const isAudited = ({ subject, credentials }: Actor, userId: string): boolean => subject !== userId || credentials.some(({ kind }) => kind === accountPageKind);

/** Writes an audit entry, unless users act on their own account with the API. */
export function auditUnlessSelf(
  tx: Transaction,
  context: RpcContext,
  operation: { readonly pattern: string },
  userId: string,
  target: string = userId,
): void {
  const actor = actorOf(context);
  if (isAudited(actor, userId)) audit(tx, actor, operation, target);
}
