import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { ArrayUnique, IsOptional } from 'class-validator';
import type { ErrorCode } from './errors.js';
import { Flag, ListOf, ObjectOf, SomeOf, Text, Texts } from './fields.js';
import { type Permission, permissions } from './permissions.js';
import { Description, Schema } from './schema.js';

// Clients of OAuth 2.0: the applications that users log in to, and programs that get tokens for themselves. All of these
// operations need `write:users`.

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const;
export type GrantType = (typeof grantTypes)[number];

export class NewOAuthClient {
  @Text()
  @Description('Users are asked whether they trust the client of this name.')
  name: string;

  @IsOptional()
  @Texts(10, 2_000)
  @ArrayUnique({ message: 'must not repeat an address' })
  @Schema({
    uniqueItems: true,
    description: 'Compared letter by letter. https, or http on this machine (127.0.0.1, [::1], localhost). For `authorization_code`.',
  })
  redirectUris?: string[];

  @ListOf(grantTypes.length, 1)
  @ArrayUnique({ message: 'must not repeat a grant type' })
  @SomeOf(grantTypes, `must hold some of ${grantTypes.join(', ')}`)
  @Schema({ uniqueItems: true, description: '`refresh_token` goes with `authorization_code`.' })
  grantTypes: GrantType[];

  @ListOf(permissions.length, 1)
  @ArrayUnique({ message: 'must not repeat a scope' })
  @SomeOf(permissions, `must hold some of ${permissions.join(', ')}`)
  @Schema({ uniqueItems: true, description: 'The most that it may ask for. Never more than its user may.' })
  scopes: Permission[];

  @IsOptional()
  @Description('Username of whom tokens act for that the client gets for itself. For `client_credentials`, and only then.')
  @Text()
  owner?: string;

  @IsOptional()
  @Description('It runs where nothing is secret, like a browser, and gets no secret. Not with `client_credentials`.')
  @Flag()
  public?: boolean;
}

export class CreateOAuthClient {
  @ObjectOf(() => NewOAuthClient)
  client: NewOAuthClient;
}

class OAuthClientRequest {
  @Text()
  clientId: string;
}

export class GetOAuthClient extends OAuthClientRequest {}

/** Ends its tokens, and all that users granted to it. */
export class DeleteOAuthClient extends OAuthClientRequest {}

/** The old secret and the access tokens that were issued for it end at once; refresh tokens go on, with the new secret. */
export class RotateOAuthClientSecret extends OAuthClientRequest {}

export interface OAuthClient {
  readonly clientId: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly scopes: readonly Permission[];
  readonly owner?: string;
  readonly public: boolean;
  readonly createdAt: string;
}

/** `secret` is shown once and kept only as a hash; a public client has none. */
export type CreatedOAuthClient = OAuthClient & { readonly secret?: string };

const { read, write } = operationsOf<ErrorCode>('identity');

export const oauthClientOperations = {
  /** `invalid-input` also for an owner who does not exist. */
  createOAuthClient: write<CreatedOAuthClient>()('createOAuthClient', CreateOAuthClient, {
    errors: ['forbidden', 'too-many-oauth-clients', 'idempotency-key-reused'],
  }),
  listOAuthClients: read<OAuthClient[]>()('listOAuthClients', NoPayload, { errors: ['forbidden'] }),
  getOAuthClient: read<OAuthClient>()('getOAuthClient', GetOAuthClient, {
    errors: ['forbidden', 'oauth-client-not-found'],
  }),
  deleteOAuthClient: write<OAuthClient>()('deleteOAuthClient', DeleteOAuthClient, {
    errors: ['forbidden', 'oauth-client-not-found'],
  }),
  rotateOAuthClientSecret: write<CreatedOAuthClient>()('rotateOAuthClientSecret', RotateOAuthClientSecret, {
    errors: ['forbidden', 'oauth-client-not-found', 'oauth-client-public', 'idempotency-key-reused'],
  }),
};
