import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { type Permission, permission, permissions } from './permissions.js';
import { type AnswerOf, boolean, described, instant, listOf, objectOf, oneOf, optional, text } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Flag, ListOf, Name, ObjectOf, PageRequest, SomeOf, Text, Texts, Unique } from './fields.js';
import { Address, CurrentCode, CurrentPassword, sensitiveErrors } from './identity.user-request.js';
import { Description } from './schema.js';

// OAuth 2.0 clients: applications that users grant access to, and programs that obtain tokens for themselves. All operations
// require `write:users`.

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const;
export type GrantType = (typeof grantTypes)[number];

export class NewOAuthClient {
  @Name()
  @Description('Shown to users when the client asks for access.')
  name: string;

  @IsOptional()
  @Texts(10, 2_000)
  @Unique('must not repeat an address')
  @Description('Compared exactly. https, or http on this machine (127.0.0.1, [::1], localhost). For `authorization_code`.')
  redirectUris?: string[];

  @IsOptional()
  @Texts(10, 2_000)
  @Unique('must not repeat an address')
  @Description('Where `/oauth/logout` may lead to. Like `redirectUris`.')
  postLogoutRedirectUris?: string[];

  @ListOf(grantTypes.length, 1)
  @Unique('must not repeat a grant type')
  @SomeOf(grantTypes, `must contain only values from ${grantTypes.join(', ')}`)
  @Description('`refresh_token` requires `authorization_code`.')
  grantTypes: GrantType[];

  @ListOf(permissions.length, 1)
  @Unique('must not repeat a scope')
  @SomeOf(permissions, `must contain only values from ${permissions.join(', ')}`)
  @Description('All scopes that the client may request. Your credential must have them. A token never has more permissions than its user.')
  scopes: Permission[];

  @IsOptional()
  @Description('Username of the user for whom the client acts. Required with `client_credentials`, and only allowed with it.')
  @Text()
  owner?: string;

  @IsOptional()
  @Description('The client cannot keep a secret, for instance in a browser, and gets none. Not with `client_credentials`.')
  @Flag()
  public?: boolean;

  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;
}

export class CreateOAuthClient {
  @ObjectOf(() => NewOAuthClient)
  client: NewOAuthClient;

  @Address()
  address?: string;
}

/** Newest first. */
export class ListOAuthClients extends PageRequest {}

class OAuthClientRequest {
  @Text()
  clientId: string;
}

export class GetOAuthClient extends OAuthClientRequest {}

/** Also ends the client's tokens and all grants of users to it. */
export class DeleteOAuthClient extends OAuthClientRequest {}

/** The old secret and the access tokens issued for it end at once. Refresh tokens remain valid, with the new secret. */
export class RotateOAuthClientSecret extends OAuthClientRequest {
  @CurrentPassword()
  currentPassword?: string;

  @CurrentCode()
  currentCode?: string;

  @Address()
  address?: string;
}

const oauthClientMembers = {
  clientId: text(200),
  name: text(200),
  redirectUris: listOf(text(2_000)),
  postLogoutRedirectUris: listOf(text(2_000)),
  grantTypes: listOf(oneOf<GrantType>(grantTypes)),
  scopes: listOf(oneOf<Permission>(permissions)),
  owner: optional(text(64)),
  public: boolean,
  createdAt: instant,
};
const oauthClientAnswer = objectOf('OAuthClient')(oauthClientMembers);

export type OAuthClient = AnswerOf<typeof oauthClientAnswer>;
const createdOAuthClientAnswer = objectOf('CreatedOAuthClient')({
  ...oauthClientMembers,
  secret: optional(described(text(), 'The secret itself. It is returned only once and stored only as a hash.')),
});

/** `secret` is returned only once and stored only as a hash; a public client has none. */
export type CreatedOAuthClient = AnswerOf<typeof createdOAuthClientAnswer>;

const { read, write } = operationsOf<ErrorCode>('identity');
const forClients = forClientsUnder('OAuth');

export const oauthClientOperations = {
  /** `invalid-input` also if the owner does not exist. */
  createOAuthClient: forClients(
    write<CreatedOAuthClient>()('createOAuthClient', CreateOAuthClient, {
      errors: ['forbidden', 'too-many-oauth-clients', 'idempotency-key-reused', ...sensitiveErrors],
    }),
    {
      route: 'POST /v3/oauth/clients',
      access: permission('write:users'),
      summary: 'Register an OAuth client',
      description:
        'The client is an application that acts for its users (`authorization_code`, always with PKCE), or a program that acts for itself ' +
        '(`client_credentials`). The secret is returned only in this response.',
      body: jsonObject('client'),
      answer: createdOAuthClientAnswer,
    },
  ),
  /** Answers a page. */
  listOAuthClients: forClients(
    read<OAuthClient[]>()('listOAuthClients', ListOAuthClients, { errors: ['forbidden', 'invalid-cursor'] }),
    {
      route: 'GET /v3/oauth/clients',
      access: permission('write:users'),
      summary: 'List OAuth clients',
      description: 'Newest first, without their secrets.',
      query: ['limit', 'cursor'],
      answer: listOf(oauthClientAnswer, 1_000),
    },
  ),
  getOAuthClient: forClients(
    read<OAuthClient>()('getOAuthClient', GetOAuthClient, {
      errors: ['forbidden', 'oauth-client-not-found'],
    }),
    {
      route: 'GET /v3/oauth/clients/:clientId',
      access: permission('write:users'),
      summary: 'Read an OAuth client',
      answer: oauthClientAnswer,
    },
  ),
  deleteOAuthClient: forClients(
    write<OAuthClient>()('deleteOAuthClient', DeleteOAuthClient, {
      errors: ['forbidden', 'oauth-client-not-found'],
    }),
    {
      route: 'DELETE /v3/oauth/clients/:clientId',
      access: permission('write:users'),
      summary: 'Delete an OAuth client',
      description: "Ends all grants of users to the client. The client's tokens are refused everywhere within a second.",
      revokes: true,
      answer: oauthClientAnswer,
    },
  ),
  rotateOAuthClientSecret: forClients(
    write<CreatedOAuthClient>()('rotateOAuthClientSecret', RotateOAuthClientSecret, {
      errors: ['forbidden', 'oauth-client-not-found', 'oauth-client-public', 'idempotency-key-reused', ...sensitiveErrors],
    }),
    {
      route: 'POST /v3/oauth/clients/:clientId/rotateSecret',
      access: permission('write:users'),
      summary: "Replace an OAuth client's secret",
      description:
        'The old secret is refused at once, and the access tokens issued for it within a second. Refresh tokens remain valid, ' +
        'with the new secret, which is returned only in this response. Your credential must have all scopes of the client.',
      revokes: true,
      answer: createdOAuthClientAnswer,
    },
  ),
};
