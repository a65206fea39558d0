import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { identity, type ListUsers, type NewUser, type SetUserRole, type UpdateUser, type User } from '@plant-shop/contracts/identity';
import type { Role } from '@plant-shop/contracts/permissions';
import { CodedError, invalidInput } from '@plant-shop/platform/errors';
import { runOnce, SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { actorOf } from '@plant-shop/platform/audit/audit-log';
import { TextPaging } from '@plant-shop/platform/paging';
import { auditOthers } from '../audit/audit-others.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { Cipher } from '../credentials/cipher.js';
import { fromDigest } from '../credentials/secret.js';
import { COMMON_PASSWORDS, type CommonPasswords } from '../passwords/common-passwords.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { endLogins } from '../sessions/end-logins.js';
import { changeRole } from './roles.js';
import {
  assertManagesUsers,
  assertVersion,
  type Candidate,
  conflictsOf,
  fullProfile,
  managed,
  managedProfile,
  passwordFaults,
  profileFor,
  refuseConflicts,
  usernameKey,
  userNotFound,
  type UserRecord,
} from './user.js';
import {
  changeUser,
  drawIds,
  findTaken,
  findUser,
  findUsernames,
  insertUsers,
  listUsers,
  lockUser,
  type UserToInsert,
} from './users.repository.js';

/** Rounds of assigning ids: each loses only to somebody who names, at the same moment, an id that was just drawn. */
const rounds = 10;

/** Users to be created together. */
export interface NewUsers {
  readonly users: readonly NewUser[];
  /** Where the caller sent the n-th one. */
  readonly pointerOf: (n: number) => string;
  readonly role: Role;
}

type Registration = Omit<UserToInsert, 'id'> & { readonly pointer: string };

const candidate = ({ username, id = 0 }: NewUser, pointer: string): Candidate => ({ username, id, pointer });

@Injectable()
export class UsersService {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly revocations: RevocationsService,
    private readonly cipher: Cipher,
    @Inject(COMMON_PASSWORDS) private readonly common: CommonPasswords,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  create(context: RpcContext, user: NewUser): Promise<Versioned<User> | Replayed> {
    const one: NewUsers = { users: [user], pointerOf: () => '/user', role: 'customer' };
    return this.register(context, one, (records) => {
      const record = onlyRow(records);
      return new Versioned(fullProfile(record), record.version);
    });
  }

  createAll(context: RpcContext, users: readonly NewUser[]): Promise<User[] | Replayed> {
    const all: NewUsers = { users, pointerOf: (n) => `/users/${n}`, role: 'customer' };
    return this.register(context, all, (records) => records.map(fullProfile));
  }

  /** @throws DomainError `user-not-found` */
  async resolve(username: string): Promise<{ userId: string }> {
    const user = await findUser(this.database, username);
    if (!user) throw userNotFound();
    return { userId: user.userId };
  }

  /** Without those who are gone. */
  resolveIds(userIds: readonly string[]): Promise<{ userId: string; username: string }[]> {
    return findUsernames(this.database, userIds);
  }

  async get(context: RpcContext, username: string): Promise<Versioned<User>> {
    const user = await findUser(this.database, username);
    if (!user) throw userNotFound();
    return new Versioned(profileFor(context.principal, user), user.version);
  }

  /** @throws DomainError `forbidden`; CodedError `invalid-cursor` */
  async list({ caller }: RpcContext, { q = '', role, ...requested }: ListUsers): Promise<Page<User>> {
    assertManagesUsers(caller);
    const paging = new TextPaging('users', [`q=${usernameKey(q)}`, `role=${role ?? ''}`]);
    const bounds = paging.bounds(requested);
    const users = await listUsers(this.database, { q, role }, bounds);
    return paging.page(users, bounds, { entry: managedProfile, position: ({ username }) => usernameKey(username) });
  }

  /** @throws DomainError `forbidden`, `user-not-found`, `precondition-failed`, `last-admin` */
  async setRole(context: RpcContext, { username, assignment: { role }, ifVersion }: SetUserRole): Promise<Versioned<User>> {
    assertManagesUsers(context.caller);
    const { user } = await changeRole(this.database, actorOf(context), { username, role, ifVersion });
    this.revocations.nudge();
    return new Versioned(managedProfile(user), user.version);
  }

  async update(
    context: RpcContext,
    { username, user: changes, ownSession, ifVersion }: UpdateUser,
  ): Promise<Versioned<User>> {
    // Judged before the password is hashed, so that nobody makes us hash for nothing, and again below.
    const found = managed(context.caller, await findUser(this.database, username));
    assertVersion(found, ifVersion);
    const { userId } = found;
    const { password } = changes;
    if (password !== undefined) this.checkPasswords([{ password, pointer: '/user' }]);
    const passwordHash = password === undefined ? undefined : await this.hasher.hash(password, context.deadline);
    const changed = await this.database.transaction(async (tx) => {
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      assertVersion(user, ifVersion);
      const record = await changeUser(tx, userId, changes, passwordHash);
      if (passwordHash !== undefined) {
        const kept = ownSession === undefined ? undefined : fromDigest(ownSession);
        await appendRevocations(tx, await endLogins(tx, userId, kept));
      }
      auditOthers(tx, context, identity.updateUser, userId);
      return record;
    });
    if (passwordHash !== undefined) this.revocations.nudge();
    return new Versioned(profileFor(context.caller, changed), changed.version);
  }

  /**
   * All of them or none, in the order given; once for an Idempotency-Key. What is refused or saved already is not
   * hashed for seconds first; what happens meanwhile is found by the transaction. The key's fingerprint of the request
   * would be a quick hash of the passwords, guarded by nothing but a key that may be easy to guess: it is one of ours
   * instead.
   * @param answerOf what is answered, and saved, for the users as they were created
   * @throws DomainError `username-taken`, `user-id-taken`; CodedError `invalid-input`, `idempotency-key-reused`
   */
  async register<T extends object>(
    { deadline, idempotency }: RpcContext,
    { users, pointerOf, role }: NewUsers,
    answerOf: (records: readonly UserRecord[]) => T,
  ): Promise<T | Replayed> {
    const asked = JSON.stringify(users);
    const key = idempotency?.forRequest(this.cipher.fingerprint(asked), this.cipher.formerFingerprints(asked));
    const candidates = users.map((user, n) => candidate(user, pointerOf(n)));
    const conflicts = conflictsOf(candidates, await findTaken(this.database, candidates));
    // After the names: whoever finds those of a twin that has just ended finds its answer, too.
    const saved = key && (await SavedAnswers.peek(this.database, [key])).of(key);
    if (saved) return saved;
    this.checkPasswords(users.map(({ password }, n) => ({ password, pointer: pointerOf(n) })));
    refuseConflicts(conflicts);
    const hashed = await this.hasher.hashAll(users, deadline);
    const registrations = hashed.map(({ owner: user, passwordHash }, n) => ({
      user,
      userId: randomUUID(),
      passwordHash,
      role,
      pointer: pointerOf(n),
    }));
    return this.database.transaction((tx) =>
      runOnce(tx, key, async () => answerOf(await this.insertAll(tx, registrations))),
    );
  }

  private async insertAll(tx: Transaction, registrations: readonly Registration[]): Promise<UserRecord[]> {
    const inserted = new Map<string, UserRecord>();
    const named = registrations.flatMap(({ user }) => user.id || []);
    for (let round = 1; round <= rounds; round++) {
      const left = registrations.filter(({ userId }) => !inserted.has(userId));
      const drawn = (await drawIds(tx, left.filter(({ user }) => !user.id).length, named)).values();
      const rows = left.map((one) => ({ ...one, id: one.user.id || (drawn.next().value ?? 0) }));
      for (const record of await insertUsers(tx, rows)) inserted.set(record.userId, record);
      const losers = registrations.filter(({ userId }) => !inserted.has(userId));
      if (losers.length === 0) return registrations.flatMap(({ userId }) => inserted.get(userId) ?? []);
      // A new statement sees who came before us: it waited for them.
      const candidates = losers.map(({ user, pointer }) => candidate(user, pointer));
      refuseConflicts(conflictsOf(candidates, await findTaken(tx, candidates)));
    }
    throw new CodedError('unavailable', 'No free id was found. Nothing happened; try again.');
  }

  /** @throws CodedError `invalid-input` */
  private checkPasswords(users: readonly { readonly password: string; readonly pointer: string }[]): void {
    const faults = users.flatMap(({ password, pointer }) =>
      passwordFaults(password, { minLength: this.options.passwordMinLength, common: this.common }, pointer),
    );
    if (faults.length > 0) throw invalidInput(faults);
  }
}
