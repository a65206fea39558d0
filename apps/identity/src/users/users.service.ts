import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type CreateUser, type CreateUsers, type FindUserIds, identity, type ListUsers, type NewUser, type PatchUser, type SetUserRole, type UpdateUser, type User, type UserPatch } from '@plant-shop/contracts/identity';
import { mergeMetadata, type MetadataChanges, type MetadataPairs } from '@plant-shop/contracts/fields';
import type { Role } from '@plant-shop/contracts/permissions';
import { networkOf } from '@plant-shop/platform/http/request';
import { CodedError, invalidInput } from '@plant-shop/platform/errors';
import { runOnce, IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { type Actor, actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Cipher } from '@plant-shop/platform/cipher';
import { byText, Paging } from '@plant-shop/platform/patterns/paging';
import {
  auditUnlessSelf,
  changeUser,
  drawIds,
  findPasswordOf,
  findTaken,
  findUser,
  findUserById,
  findUserIds,
  findUsernames,
  insertUsers,
  listUsers,
  lockUser,
  setRole,
  type UserToInsert,
} from './users.repository.js';
import { listLiveKeys, revokeKeysOf, toApiKey } from '../api-keys.repository.js';
import { MailOutbox } from '../mail/outbox.js';
import { EmailVerification } from './email-verification.service.js';
import { type Proof, RecentLogin, recentLoginRequired } from './recent-login.js';
import { assertNotLastAdmin } from './last-admin.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { fromDigest } from '../secrets/secrets.js';
import { COMMON_PASSWORDS, type CommonPasswords } from '../passwords/common-passwords.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { endSessionsAndGrants } from '../sessions.repository.js';
import {
  assertHasAll,
  assertManagesUsers,
  assertMaySetExternals,
  assertMaySetPassword,
  assertVersion,
  type Candidate,
  conflictsOf,
  registeredProfile,
  requireManageable,
  managedProfile,
  passwordErrors,
  permissionsGained,
  profileFor,
  assertNoConflicts,
  usernameKey,
  userNotFound,
  type UserRecord,
} from './user.js';

/** Users that a search of orders considers. */
const maxFound = 100;

/** Rounds of assigning ids. A round fails only when a concurrent request names an id that was just drawn. */
const maxRounds = 10;

/** Users to be created together. */
export interface NewUsers {
  readonly users: readonly NewUser[];
  /** Returns the JSON pointer of the n-th user in the request. */
  readonly pointerOf: (n: number) => string;
  readonly role: Role;
  /** Whose turn it is to have passwords hashed. */
  readonly network?: string;
}

type Registration = Omit<UserToInsert, 'id'> & { readonly pointer: string };

const candidate = ({ username, id = 0, externalId }: NewUser, pointer: string): Candidate => ({ username, id, externalId, pointer });

@Injectable()
export class UsersService {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly revocations: RevocationsService,
    private readonly recentLogin: RecentLogin,
    private readonly cipher: Cipher,
    private readonly outbox: MailOutbox,
    private readonly verification: EmailVerification,
    @Inject(COMMON_PASSWORDS) private readonly common: CommonPasswords,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  create(context: RpcContext, { user, address = '' }: CreateUser): Promise<Versioned<User> | Replayed> {
    const one: NewUsers = { users: [user], pointerOf: () => '/user', role: 'customer', network: networkOf(address) };
    return this.register(context, one, (records) => {
      const record = onlyRow(records);
      return new Versioned(registeredProfile(record), record.version);
    });
  }

  createAll(context: RpcContext, { users, address = '' }: CreateUsers): Promise<User[] | Replayed> {
    const all: NewUsers = { users, pointerOf: (n) => `/users/${n}`, role: 'customer', network: networkOf(address) };
    return this.register(context, all, (records) => records.map(registeredProfile));
  }

  /** @throws DomainError `user-not-found` */
  async resolve(username: string): Promise<{ userId: string }> {
    const user = await findUser(this.database, username);
    if (!user) throw userNotFound();
    return { userId: user.userId };
  }

  /** Returns the names of users; deleted users are omitted. */
  resolveIds(userIds: readonly string[]): Promise<{ userId: string; username: string }[]> {
    return findUsernames(this.database, userIds);
  }

  /** Finds the users whom a search of orders names, at most 100. */
  async findIds(request: FindUserIds): Promise<{ userIds: string[] }> {
    return { userIds: await findUserIds(this.database, request, maxFound) };
  }

  async get(context: RpcContext, username: string): Promise<Versioned<User>> {
    const user = await findUser(this.database, username);
    if (!user) throw userNotFound();
    return new Versioned(profileFor(context.principalIfAny, user), user.version);
  }

  /** @throws DomainError `user-not-found` if it was deleted meanwhile */
  async getOwn({ principal }: RpcContext): Promise<Versioned<User>> {
    const user = await findUserById(this.database, principal.subject);
    if (!user) throw userNotFound();
    return new Versioned(managedProfile(user), user.version);
  }

  /** @throws DomainError `forbidden`; CodedError `invalid-cursor` */
  async list({ principal }: RpcContext, { q = '', search, role, externalId, metadata, ...requested }: ListUsers): Promise<Page<User>> {
    assertManagesUsers(principal);
    const pairs = Object.entries(metadata ?? {}).map((pair) => `metadata=${JSON.stringify(pair)}`);
    const paging = new Paging('users', byText, [`q=${usernameKey(q)}`, ...(search === undefined ? [] : [`search=${search}`]), `role=${role ?? ''}`, `externalId=${externalId ?? ''}`, ...pairs]);
    const bounds = paging.bounds(requested);
    const users = await listUsers(this.database, { q, search, role, externalId, metadata }, bounds);
    return paging.page(users, bounds, { entry: managedProfile, position: ({ username }) => usernameKey(username) });
  }

  /**
   * Sets a role. The principal needs the permissions that the user gains.
   * @throws DomainError `forbidden`, `user-not-found`, `precondition-failed`, `last-admin`, `recent-login-required`
   */
  async setRole(
    context: RpcContext,
    { username, assignment: { role, currentPassword, currentCode }, address, ifVersion }: SetUserRole,
  ): Promise<Versioned<User>> {
    assertManagesUsers(context.principal);
    await this.recentLogin.require(context, { currentPassword, currentCode, address });
    const { user } = await changeRole(this.database, this.outbox, actorOf(context), { username, role, ifVersion, by: context.principal });
    this.revocations.publish();
    return new Versioned(managedProfile(user), user.version);
  }

  update(context: RpcContext, request: UpdateUser): Promise<Versioned<User>> {
    return this.change(context, identity.updateUser, request, (metadata) => mergeMetadata(null, metadata, '/user/metadata'));
  }

  patch(context: RpcContext, request: PatchUser): Promise<Versioned<User>> {
    return this.change(context, identity.patchUser, request, (metadata, before) => mergeMetadata(before, metadata, '/user/metadata'));
  }

  private async change(
    context: RpcContext,
    operation: { readonly pattern: string },
    { username, user: changes, ownSession, address, ifVersion }: PatchUser,
    metadataAfter: (given: MetadataChanges | null, before: MetadataPairs | null) => MetadataPairs | null,
  ): Promise<Versioned<User>> {
    // Checked here too, so that refused requests cost no password hash; the checks below decide.
    const found = requireManageable(context.principal, await findUser(this.database, username));
    assertVersion(found, ifVersion);
    const { userId } = found;
    const { password: sent, currentPassword, currentCode, endApiKeys = false, metadata, ...others } = changes;
    const changesOf = (user: UserRecord) => ({ ...others, ...(metadata !== undefined && { metadata: metadataAfter(metadata, user.metadata) }) });
    if (sent !== undefined) assertMaySetPassword(context.principal, found);
    assertMaySetExternals(context.principal, changesOf(found), found);
    const password = await this.changedPassword(context, found, changes, { currentPassword, currentCode, address });
    if (password !== undefined) this.checkPasswords([{ ...found, ...others, password, pointer: '/user' }]);
    const passwordHash = password === undefined ? undefined : await this.hasher.hash(password, context.deadline);
    const changed = await this.database.transaction(async (tx) => {
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      assertVersion(user, ifVersion);
      // The role may have been raised since.
      if (passwordHash !== undefined) assertMaySetPassword(context.principal, user);
      assertMaySetExternals(context.principal, changesOf(user), user);
      const record = await changeUser(tx, userId, { ...changesOf(user), ...(passwordHash !== undefined && { passwordHash }) });
      this.outbox.recipient(tx, user, record);
      const isSelf = context.principal.subject === userId;
      // A user need not learn where staff work.
      const from = isSelf ? address : undefined;
      if (passwordHash !== undefined) await this.outbox.notice(tx, user, 'password-changed', { from });
      if (record.email !== user.email) {
        await this.outbox.notice(tx, user, 'address-changed', { from });
        await this.verification.begin(tx, [record], isSelf ? userId : undefined);
      }
      const keptTokenHash = ownSession === undefined ? undefined : fromDigest(ownSession);
      const ended = [
        ...(passwordHash === undefined ? [] : await endSessionsAndGrants(tx, userId, keptTokenHash)),
        ...(endApiKeys ? await revokeKeysOf(tx, userId) : []),
      ];
      const apiKeys = passwordHash === undefined ? undefined : (await listLiveKeys(tx, userId)).map(toApiKey);
      await appendRevocations(tx, ended);
      auditUnlessSelf(tx, context, operation, userId);
      return { record, ended, apiKeys };
    });
    if (changed.ended.length > 0) this.revocations.publish();
    const { record, apiKeys } = changed;
    return new Versioned({ ...profileFor(context.principal, record), ...(apiKeys && { apiKeys }) }, record.version);
  }

  /**
   * Returns the new password, if the changes contain one. The password that the user has is none.
   * @throws DomainError `recent-login-required` when a changed password or e-mail address lacks it
   */
  private async changedPassword(
    context: RpcContext,
    user: UserRecord,
    { password, email }: UserPatch,
    proof: Proof,
  ): Promise<string | undefined> {
    const hasNewEmail = email !== undefined && (email ?? '') !== (user.email ?? '');
    if (password === undefined && !hasNewEmail) return undefined;
    const isProven = await this.recentLogin.isProven(context, proof);
    if (hasNewEmail && !isProven) throw recentLoginRequired();
    const stored = password === undefined ? undefined : await findPasswordOf(this.database, user.userId);
    if (password === undefined || !stored) return undefined;
    const isOwn = isProven
      ? await this.hasher.verify(stored.passwordHash, password, context.deadline)
      : await this.recentLogin.isPassword(stored, password, context.deadline, proof.address);
    if (isOwn) return undefined;
    if (!isProven) throw recentLoginRequired();
    return password;
  }

  /**
   * Creates all users or none, in the order given, once per Idempotency-Key.
   *
   * Conflicts and saved answers are checked before hashing, which can take seconds; the transaction checks them again. The
   * request's fingerprint is keyed by IDENTITY_SECRET: the default fingerprint would be a fast hash of the passwords,
   * protected only by an Idempotency-Key that may be easy to guess.
   * @param answerOf returns the answer, which is also saved, for the created users
   * @throws DomainError `username-taken`, `user-id-taken`, `external-id-exists`, `forbidden`; CodedError `invalid-input`, `idempotency-key-reused`
   */
  async register<T extends object>(
    { deadline, idempotency, principalIfAny }: RpcContext,
    { users, pointerOf, role, network }: NewUsers,
    answerOf: (records: readonly UserRecord[]) => T,
  ): Promise<T | Replayed> {
    for (const user of users) assertMaySetExternals(principalIfAny, user);
    const text = JSON.stringify(users);
    const key = idempotency?.forRequest(this.cipher.fingerprint(text), this.cipher.formerFingerprints(text));
    const candidates = users.map((user, n) => candidate(user, pointerOf(n)));
    const conflicts = conflictsOf(candidates, await findTaken(this.database, candidates));
    // After the query for taken names: if it found those of a concurrent copy of this request, its answer is saved by now.
    const saved = await IdempotentResults.peek(this.database, key);
    if (saved) return saved;
    this.checkPasswords(users.map(({ username, email, password }, n) => ({ username, password, pointer: pointerOf(n), ...(email !== undefined && { email }) })));
    assertNoConflicts(conflicts);
    const hashed = await this.hasher.hashAll(users, deadline, network);
    const registrations = hashed.map(({ owner: user, passwordHash }, n) => ({
      user,
      userId: randomUUID(),
      passwordHash,
      role,
      pointer: pointerOf(n),
    }));
    return this.database.transaction((tx) =>
      runOnce(tx, key, async () => {
        const records = await this.insertAll(tx, registrations);
        await this.verification.begin(tx, records);
        return answerOf(records);
      }),
    );
  }

  private async insertAll(tx: Transaction, registrations: readonly Registration[]): Promise<UserRecord[]> {
    const inserted = new Map<string, UserRecord>();
    const requestedIds = registrations.flatMap(({ user }) => user.id || []);
    for (let round = 1; round <= maxRounds; round++) {
      const pending = registrations.filter(({ userId }) => !inserted.has(userId));
      const drawn = (await drawIds(tx, pending.filter(({ user }) => !user.id).length, requestedIds)).values();
      const rows = pending.map((one) => ({ ...one, id: one.user.id || (drawn.next().value ?? 0) }));
      for (const record of await insertUsers(tx, rows)) inserted.set(record.userId, record);
      const losers = registrations.filter(({ userId }) => !inserted.has(userId));
      if (losers.length === 0) return registrations.flatMap(({ userId }) => inserted.get(userId) ?? []);
      // A new statement sees the winners: the insert waited for their commits.
      const candidates = losers.map(({ user, pointer }) => candidate(user, pointer));
      assertNoConflicts(conflictsOf(candidates, await findTaken(tx, candidates)));
    }
    throw new CodedError('unavailable', 'No free id was found. No user was created; try again.');
  }

  /** @throws CodedError `invalid-input` */
  checkPasswords(users: readonly { readonly password: string; readonly pointer: string; readonly username: string; readonly email?: string | null }[]): void {
    const rules = { minLength: this.options.passwordMinLength, common: this.common, allowsNames: !this.options.refuseCommonPasswords };
    const errors = users.flatMap(({ password, pointer, ...owner }) => passwordErrors(password, rules, pointer, owner));
    if (errors.length > 0) throw invalidInput(errors);
  }
}

export interface RoleChange {
  readonly before: Role;
  /** The user with the new role. */
  readonly user: UserRecord;
}

/**
 * Sets the role of a user, for a request or for the command `set-role`. Sessions, keys and clients continue with the new role's
 * permissions; caches learn of the change from the revocation log.
 * @param change.by who must have the permissions that the user gains
 * @throws DomainError `user-not-found`, `precondition-failed`, `forbidden`, `last-admin`
 */
export function changeRole(
  database: Database,
  outbox: MailOutbox,
  actor: Actor,
  { username, role, ifVersion, by }: { readonly username: string; readonly role: Role; readonly ifVersion?: number | undefined; readonly by: Pick<Principal, 'permissions'> },
): Promise<RoleChange> {
  return database.transaction(async (tx) => {
    const found = await findUser(tx, username);
    const user = found && (await lockUser(tx, found.userId));
    if (!user) throw userNotFound();
    assertVersion(user, ifVersion);
    if (user.role === role) return { before: role, user };
    assertHasAll(by, permissionsGained(user.role, role));
    await assertNotLastAdmin(tx, user);
    const changed = await setRole(tx, user.userId, role);
    await outbox.notice(tx, user, 'role-changed', { role });
    await appendRevocations(tx, [{ kind: 'userChanged', id: user.userId }]);
    audit(tx, actor, identity.setUserRole, `${user.userId}: ${user.role} to ${role}`);
    return { before: user.role, user: changed };
  });
}
