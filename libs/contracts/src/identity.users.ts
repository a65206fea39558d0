import { applyDecorators } from '@nestjs/common';
import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { authenticated, optionalCredential, permission, type Role, roles } from './permissions.js';
import { type AnswerOf, boolean, described, id, instant, integer, listOf, metadata, objectOf, oneOf, optional, text } from './answers.js';
import { apiKeyAnswer } from './identity.api-keys.js';
import { forClientsUnder, jsonArray, jsonObject, mergePatch, message } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import {
  Clearable,
  ExpectedVersion,
  ExternalId,
  Flag,
  IdToAssign,
  IdToChange,
  Integer,
  Kept,
  Metadata,
  type MetadataChanges,
  type MetadataPairs,
  Name,
  ObjectOf,
  ObjectsOf,
  OneOf,
  PageRequest,
  Pattern,
  Text,
} from './fields.js';
import { Digest } from './identity.sessions.js';
import { Address, CurrentCode, CurrentPassword, sensitiveErrors, UserRequest } from './identity.user-request.js';
import { Description } from './schema.js';

// Users and their roles.

const Username = (): PropertyDecorator =>
  Pattern(
    username,
    'must begin with a letter from A to Z or a digit, and have at most 64 letters, digits and . _ @ + -; some names are reserved',
    // The reserved names are case-insensitive, which a JSON Schema pattern cannot express.
    { pattern: '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$', description: 'Not login, logout, me or createWithList.' },
  );
const username = /^(?!(?:login|logout|me|createwithlist)$)[a-z0-9][a-z0-9._@+-]{0,63}$/i;

const int32 = [-2_147_483_648, 2_147_483_647] as const;
const UserStatus = (): PropertyDecorator => Integer(...int32);

const NewPassword = (): PropertyDecorator =>
  applyDecorators(Description('The password that the user has already changes nothing.'), Text({ max: 256 }));

/** Whether the user wants mail about orders. */
const OrderMails = (): PropertyDecorator => applyDecorators(Description('Mail about the orders of the user, to a verified address. Default: false.'), Flag());

const EndApiKeys = (): PropertyDecorator => applyDecorators(Description("Also ends the user's API keys."), IsOptional(), Flag());

// Sent by clients

class Profile {
  @IsOptional()
  @Name({ min: 0 })
  firstName?: string;

  @IsOptional()
  @Name({ min: 0 })
  lastName?: string;

  @IsOptional()
  @Text({ min: 0 })
  email?: string;

  @IsOptional()
  @Text({ min: 0 })
  phone?: string;

  @IsOptional()
  @OrderMails()
  orderMails?: boolean;

  @IsOptional()
  @UserStatus()
  userStatus?: number;

  @Clearable()
  @ExternalId()
  externalId?: string | null;

  @Clearable()
  @Metadata()
  metadata?: MetadataPairs | null;
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
  @NewPassword()
  password?: string;

  @EndApiKeys()
  endApiKeys?: boolean;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;
}

/** A merge patch (RFC 7396): absent members stay, `null` removes. */
export class UserPatch {
  @Kept()
  @Integer(0, Number.MAX_SAFE_INTEGER)
  @Description('0: it stays the same.')
  id?: number;

  @Kept()
  @Username()
  username?: string;

  @Clearable()
  @Name({ min: 0 })
  firstName?: string | null;

  @Clearable()
  @Name({ min: 0 })
  lastName?: string | null;

  @Clearable()
  @Text({ min: 0 })
  email?: string | null;

  @Clearable()
  @Text({ min: 0 })
  phone?: string | null;

  @Kept()
  @OrderMails()
  orderMails?: boolean;

  @Clearable()
  @UserStatus()
  userStatus?: number | null;

  @Clearable()
  @ExternalId()
  externalId?: string | null;

  @Clearable()
  @Metadata({ clearable: true })
  metadata?: MetadataChanges | null;

  @Kept()
  @NewPassword()
  password?: string;

  @EndApiKeys()
  endApiKeys?: boolean;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;
}

export class RoleAssignment {
  @OneOf(roles)
  role: Role;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;
}

// Requests

class Registration {
  /** Networks take turns when passwords are hashed. */
  @Address()
  address?: string;
}

export class CreateUser extends Registration {
  @ObjectOf(() => NewUser)
  user: NewUser;
}

export class CreateUsers extends Registration {
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
  @Text()
  @Description('Beginning of the username, the name or the last name, or the e-mail address; regardless of case.')
  search?: string;

  @IsOptional()
  @OneOf(roles)
  @Description('Only users with this role.')
  role?: Role;

  @IsOptional()
  @Text()
  externalId?: string;

  @IsOptional()
  @Metadata()
  @Description('Only users with all these pairs.')
  metadata?: MetadataPairs;
}

class UserChange extends UserRequest {
  /** SHA-256 of the caller's session token, if any: the only session that survives a new password. */
  @IsOptional()
  @Digest()
  ownSession?: string;

  @Address()
  address?: string;

  @ExpectedVersion()
  ifVersion?: number;
}

export class UpdateUser extends UserChange {
  @ObjectOf(() => UserChanges)
  user: UserChanges;
}

export class PatchUser extends UserChange {
  @ObjectOf(() => UserPatch)
  user: UserPatch;
}

export class SetUserRole extends UserRequest {
  @ObjectOf(() => RoleAssignment)
  assignment: RoleAssignment;

  @Address()
  address?: string;

  @ExpectedVersion()
  ifVersion?: number;
}

export class DeleteUser extends UserRequest {
  @ExpectedVersion()
  ifVersion?: number;
}

const managedOnly = 'Visible to callers with write:users, and in GET /user/me.';

const userAnswer = objectOf('User', 'Visible to everyone: id, username, firstName, lastName and userStatus.')({
  id,
  username: text(64),
  firstName: optional(text(200)),
  lastName: optional(text(200)),
  email: optional(described(text(200), 'Visible to the user and to callers with write:users.')),
  phone: optional(described(text(200), 'Visible to the user and to callers with write:users.')),
  emailVerified: optional(described(boolean, 'Whether the user has shown to receive mail at `email`. Visible like `email`.')),
  orderMails: optional(described(boolean, 'Whether mail about orders is sent to the verified address. Visible like `email`.')),
  userStatus: optional(integer(...int32)),
  role: optional(described(oneOf<Role>(roles), managedOnly)),
  externalId: optional(described(text(200), managedOnly)),
  metadata: optional(described(metadata, managedOnly)),
  updatedAt: optional(described(instant, 'Visible to the user and to callers with write:users.')),
  apiKeys: optional(described(listOf(apiKeyAnswer, 100), 'After a change of the password: the API keys that remain valid.')),
});

// Answers

/** As seen by the user and with `write:users`. Other callers get no `email`, `phone` and `orderMails`. */
export type User = AnswerOf<typeof userAnswer>;

/** Hashing a password costs about as much as 20 reads. */
const registrationWeight = { perUser: 20 };

const { read, write } = operationsOf<ErrorCode>('identity');
const forClients = forClientsUnder('Users');

export const userOperations = {
  /** Details of `username-taken` and `user-id-taken`: the pointer of the field. */
  createUser: forClients(
    write<User>()('createUser', CreateUser, {
      errors: ['username-taken', 'user-id-taken', 'external-id-exists', 'forbidden', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/user',
      // An Idempotency-Key is honoured only with a valid credential.
      access: optionalCredential,
      weight: registrationWeight,
      summary: 'Register a user',
      description: 'Returns the user as sent, without the password, which no response contains. Usernames are not case-sensitive. `externalId` and `metadata` need `write:users`.',
      body: jsonObject('user'),
      answer: userAnswer,
    },
  ),
  /** Creates all or none. Pointers contain the index: `/users/3/username`. */
  createUsers: forClients(
    write<User[]>()('createUsers', CreateUsers, {
      errors: ['username-taken', 'user-id-taken', 'external-id-exists', 'forbidden', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/user/createWithList',
      // An Idempotency-Key is honoured only with a valid credential.
      access: optionalCredential,
      weight: registrationWeight,
      summary: 'Register several users, all or none',
      description:
        'At most 500. The `pointer` of an error begins with the index of the user. A list counts against the rate limit as 20 requests per user. ' +
        '429 and 503 `overloaded` or `unavailable` mean that nobody was created: send the same list again after `Retry-After`. If the response ' +
        'was lost or is `outcome-unknown`, send it again, too: 409 `username-taken` for every user means that the first attempt succeeded. Log in ' +
        'as one of them to be sure. With a credential, an Idempotency-Key makes that unnecessary.',
      body: jsonArray('users'),
      budgetFactor: 3,
      answer: listOf(userAnswer, 500),
    },
  ),
  getUser: forClients(
    read<User>()('getUser', GetUser, { errors: ['user-not-found'], versioned: true }),
    {
      route: 'GET /v3/user/:username',
      // The user and callers with `write:users` see more.
      access: optionalCredential,
      summary: 'Read a user',
      description: 'E-mail address and telephone number are returned only to the user and to callers with `write:users`.',
      answer: userAnswer,
    },
  ),
  getOwnUser: forClients(
    read<User>()('getOwnUser', NoPayload, { errors: ['user-not-found'], versioned: true }),
    {
      route: 'GET /v3/user/me',
      access: authenticated,
      summary: 'Read the user of the credential',
      description: 'With the role.',
      answer: userAnswer,
    },
  ),
  /** Answers a page. Without `write:users`: `forbidden`. */
  listUsers: forClients(
    read<User[]>()('listUsers', ListUsers, { errors: ['invalid-cursor', 'forbidden'] }),
    {
      route: 'GET /v3/user',
      access: permission('write:users'),
      summary: 'List users',
      description: 'Sorted by username, regardless of case. Requires `write:users`.',
      query: ['q', 'search', 'role', 'externalId', 'metadata', 'limit', 'cursor'],
      answer: listOf(userAnswer, 1_000),
    },
  ),
  /** Requires `write:users`. `last-admin`: no admin would remain. */
  setUserRole: forClients(
    write<User>()('setUserRole', SetUserRole, {
      errors: ['user-not-found', 'forbidden', 'last-admin', 'precondition-failed', ...sensitiveErrors],
      versioned: true,
    }),
    {
      route: 'PUT /v3/user/:username/role',
      access: permission('write:users'),
      summary: 'Set the role of a user',
      description:
        "A customer manages their own orders and webhooks; staff manage everything except users; an admin manages everything. The user's " +
        'sessions, API keys and tokens remain valid, and permit what the new role permits within a second. Your credential must have the ' +
        'permissions that the user gains. Refused (409 `last-admin`) if no admin would be left.',
      body: jsonObject('assignment'),
      revokes: true,
      answer: userAnswer,
    },
  ),
  updateUser: forClients(
    write<User>()('updateUser', UpdateUser, {
      errors: ['user-not-found', 'forbidden', 'username-taken', 'user-id-taken', 'external-id-exists', 'precondition-failed', ...sensitiveErrors],
      versioned: true,
    }),
    {
      route: 'PUT /v3/user/:username',
      access: authenticated,
      summary: 'Change a user',
      description:
        "Changes the fields that are sent. Only for the user and with `write:users`; another user's password also needs all permissions of " +
        "that user. A new password ends the user's other sessions and all grants to applications, and the response lists the API keys, which " +
        'remain valid without `endApiKeys`. A new password or e-mail address needs a session that began in the last ten minutes, or `currentPassword`. ' +
        'A change of `externalId` or `metadata` needs `write:users`; `null` ends them.',
      body: jsonObject('user'),
      revokes: true,
      answer: userAnswer,
    },
  ),
  patchUser: forClients(
    write<User>()('patchUser', PatchUser, {
      errors: ['user-not-found', 'forbidden', 'username-taken', 'user-id-taken', 'external-id-exists', 'precondition-failed', ...sensitiveErrors],
      versioned: true,
    }),
    {
      route: 'PATCH /v3/user/:username',
      access: authenticated,
      summary: 'Change or remove fields of a user',
      description: 'A merge patch (RFC 7396), under the rules of PUT: absent fields stay, and `null` removes one. The pairs of `metadata` are merged, too.',
      body: mergePatch('user'),
      revokes: true,
      answer: userAnswer,
    },
  ),
  /** Details of `user-has-open-orders`: `orders` (the first 100 ids). */
  deleteUser: forClients(
    write<{ username: string }>()('deleteUser', DeleteUser, {
      errors: ['user-not-found', 'forbidden', 'user-has-open-orders', 'last-admin', 'precondition-failed'],
    }),
    {
      route: 'DELETE /v3/user/:username',
      access: authenticated,
      summary: 'Delete a user permanently',
      description:
        'Only for the user and with `write:users`. Refused while the user has open orders, of which the problem lists the first 100, and for ' +
        'the last admin. The message is the username.',
      revokes: true,
      answer: message('username', 'ada'),
    },
  ),
};
