import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { ArrayUnique, IsOptional } from 'class-validator';
import type { ErrorCode } from './errors.js';
import { DateTime, Integer, ListOf, ObjectOf, SomeOf, Text, Uuid } from './fields.js';
import { UserRequest } from './identity.user-request.js';
import { type Permission, permissions } from './permissions.js';
import { Description, Schema } from './schema.js';

// API keys of a user, for the user in person and with `write:users`.

export class NewApiKey {
  @Text()
  name: string;

  /** More than the user may do is `forbidden`. */
  @IsOptional()
  @ListOf(permissions.length, 1)
  @ArrayUnique({ message: 'must not repeat a permission' })
  @SomeOf(permissions, `must hold some of ${permissions.join(', ')}`)
  @Schema({ uniqueItems: true, description: 'Absent: all that the user may do. Never more than that.' })
  permissions?: Permission[];

  @IsOptional()
  @DateTime()
  expiresAt?: string;
}

export class ApiKeyRotation {
  @IsOptional()
  @Description('How long the old key goes on beside its successor, in seconds. Absent: a day. 0: it ends at once.')
  @Integer(0, 2_592_000)
  graceSeconds?: number;
}

export class CreateApiKey extends UserRequest {
  @ObjectOf(() => NewApiKey)
  apiKey: NewApiKey;
}

export class ListApiKeys extends UserRequest {}

export class RevokeApiKey extends UserRequest {
  @Uuid()
  apiKeyId: string;
}

/**
 * Makes a successor with the name and the permissions of a key, and a life as long as the key was given. The old one ends
 * after the grace, or before if it would have anyway. At most these two live: neither can be rotated again meanwhile.
 */
export class RotateApiKey extends UserRequest {
  @Uuid()
  apiKeyId: string;

  @ObjectOf(() => ApiKeyRotation)
  rotation: ApiKeyRotation;
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** First characters of the key, to recognise it by. */
  readonly prefix: string;
  readonly permissions: readonly Permission[];
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly lastUsedAt?: string;
}

/** `key` is shown once and kept only as a hash. */
export type CreatedApiKey = ApiKey & { readonly key: string };

const { read, write } = operationsOf<ErrorCode>('identity');

export const apiKeyOperations = {
  createApiKey: write<CreatedApiKey>()('createApiKey', CreateApiKey, {
    errors: ['user-not-found', 'forbidden', 'too-many-api-keys', 'idempotency-key-reused'],
  }),
  listApiKeys: read<ApiKey[]>()('listApiKeys', ListApiKeys, { errors: ['user-not-found', 'forbidden'] }),
  revokeApiKey: write<ApiKey>()('revokeApiKey', RevokeApiKey, {
    errors: ['user-not-found', 'forbidden', 'api-key-not-found'],
  }),
  /** Answers the successor. `too-many-api-keys` while the key is being replaced already. */
  rotateApiKey: write<CreatedApiKey>()('rotateApiKey', RotateApiKey, {
    errors: ['user-not-found', 'forbidden', 'api-key-not-found', 'too-many-api-keys', 'idempotency-key-reused'],
  }),
};
