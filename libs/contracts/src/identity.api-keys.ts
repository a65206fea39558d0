import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { authenticated, type Permission, permissions } from './permissions.js';
import { type AnswerOf, described, instant, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { DateTime, Integer, ListOf, Name, ObjectOf, SomeOf, Unique, Uuid } from './fields.js';
import { Address, CurrentCode, CurrentPassword, sensitiveErrors, UserRequest } from './identity.user-request.js';
import { Description } from './schema.js';

// API keys of a user. Callers: the user, or anyone with `write:users`.

export class NewApiKey {
  @Name()
  name: string;

  /** Permissions that the user or the caller's credential lacks: `forbidden`. */
  @IsOptional()
  @ListOf(permissions.length, 1)
  @Unique('must not repeat a permission')
  @SomeOf(permissions, `must contain only values from ${permissions.join(', ')}`)
  @Description("Default: a customer's, as far as your credential has them. The key never has permissions that the user or your credential lacks.")
  permissions?: Permission[];

  @IsOptional()
  @DateTime()
  expiresAt?: string;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;
}

export class ApiKeyRotation {
  @IsOptional()
  @Description('How long the old key remains valid, in seconds. Default: one day. 0: it ends at once.')
  @Integer(0, 2_592_000)
  graceSeconds?: number;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;
}

export class CreateApiKey extends UserRequest {
  @ObjectOf(() => NewApiKey)
  apiKey: NewApiKey;

  @Address()
  address?: string;
}

export class ListApiKeys extends UserRequest {}

export class RevokeApiKey extends UserRequest {
  @Uuid()
  apiKeyId: string;
}

/**
 * Creates a successor with the key's name and lifetime, and the permissions that its user still has. `forbidden` when the caller's
 * credential lacks one of them. The old key ends after the grace period, or earlier if
 * it expires. Until then neither of the two can be rotated again.
 */
export class RotateApiKey extends UserRequest {
  @Uuid()
  apiKeyId: string;

  @ObjectOf(() => ApiKeyRotation)
  rotation: ApiKeyRotation;

  @Address()
  address?: string;
}

const apiKeyMembers = {
  id: uuid,
  name: text(200),
  prefix: described(text(10), 'The first characters of the key, to recognise it.'),
  permissions: listOf(oneOf<Permission>(permissions), permissions.length),
  createdAt: instant,
  expiresAt: optional(instant),
  lastUsedAt: optional(instant),
};
export const apiKeyAnswer = objectOf('ApiKey')(apiKeyMembers);

export type ApiKey = AnswerOf<typeof apiKeyAnswer>;
const createdApiKeyAnswer = objectOf('CreatedApiKey')({
  ...apiKeyMembers,
  key: described(text(), 'The key itself. It is returned only once and stored only as a hash.'),
});

/** `key` is returned only once and stored only as a hash. */
export type CreatedApiKey = AnswerOf<typeof createdApiKeyAnswer>;

const { read, write } = operationsOf<ErrorCode>('identity');
const forClients = forClientsUnder('Users');

export const apiKeyOperations = {
  createApiKey: forClients(
    write<CreatedApiKey>()('createApiKey', CreateApiKey, {
      errors: ['user-not-found', 'forbidden', 'too-many-api-keys', 'idempotency-key-reused', ...sensitiveErrors],
    }),
    {
      route: 'POST /v3/user/:username/apiKeys',
      access: authenticated,
      summary: 'Create an API key',
      description: 'The key itself is returned only in this response. It never has more permissions than its user or the credential that creates it.',
      body: jsonObject('apiKey'),
      answer: createdApiKeyAnswer,
    },
  ),
  listApiKeys: forClients(
    read<ApiKey[]>()('listApiKeys', ListApiKeys, { errors: ['user-not-found', 'forbidden'] }),
    {
      route: 'GET /v3/user/:username/apiKeys',
      access: authenticated,
      summary: 'List API keys',
      description: 'All of them, newest first. Does not return the keys themselves, which are stored only as hashes.',
      answer: listOf(apiKeyAnswer, 100),
    },
  ),
  revokeApiKey: forClients(
    write<ApiKey>()('revokeApiKey', RevokeApiKey, {
      errors: ['user-not-found', 'forbidden', 'api-key-not-found'],
    }),
    {
      route: 'DELETE /v3/user/:username/apiKeys/:apiKeyId',
      access: authenticated,
      summary: 'Revoke an API key',
      description: 'The key is refused everywhere within a second.',
      revokes: true,
      answer: apiKeyAnswer,
    },
  ),
  /** Answers the successor. `too-many-api-keys`: the key is being replaced already. */
  rotateApiKey: forClients(
    write<CreatedApiKey>()('rotateApiKey', RotateApiKey, {
      errors: ['user-not-found', 'forbidden', 'api-key-not-found', 'too-many-api-keys', 'idempotency-key-reused', ...sensitiveErrors],
    }),
    {
      route: 'POST /v3/user/:username/apiKeys/:apiKeyId/rotation',
      access: authenticated,
      summary: 'Replace an API key',
      description:
        'Returns a new key with the same name and permissions, which your credential must have. The old key remains valid for a grace ' +
        'period. The new key itself is returned only in this response.',
      body: jsonObject('rotation'),
      revokes: true,
      answer: createdApiKeyAnswer,
    },
  ),
};
