import { DomainError } from '@plant-shop/contracts/errors';
import type { CreatedOAuthClient, NewOAuthClient, OAuthClient } from '@plant-shop/contracts/identity.oauth';
import type { Permission } from '@plant-shop/contracts/permissions';
import type { FieldError } from '@plant-shop/platform/errors';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { AdapterPayload, ClientMetadata } from 'oidc-provider';
import type { OAuthClientEntity } from '../database.js';

/** Of the whole shop. */
export const maxClients = 1_000;

/** Custom members of a client's metadata. */
export const ownerMetadata = 'owner_user_id';
export const secretIdMetadata = 'secret_id';
/** Scopes of a request without any. */
export const defaultScopeMetadata = 'default_scope';

/** Scopes about who the user is, by OpenID Connect. Clients with users may request them without being registered for them. */
export const identityScopes = ['openid', 'profile', 'email'] as const;
export type IdentityScope = (typeof identityScopes)[number];

/** The page "Your account" as a client, so that users log in to it like to any application. It has no row: nothing is granted to it for longer than a code lives. */
export const accountClientId = 'your-account';
export const accountPath = '/account';
/** Where they see and change their own second factors. */
export const factorsPath = '/account/factors';

export const accountClient = (publicUrl: string): ClientMetadata => ({
  client_id: accountClientId,
  client_name: 'Your account',
  token_endpoint_auth_method: 'none',
  scope: 'openid',
  [defaultScopeMetadata]: 'openid',
  grant_types: ['authorization_code'],
  response_types: ['code'],
  redirect_uris: [`${publicUrl}${accountPath}`],
});

/** Every client may request this scope without being registered for it, since every user has the permission. */
const implicitScope: Permission = 'read:plants';

/** Returns the client's metadata for the provider (RFC 7591). */
export const metadataOf = (client: OAuthClientEntity): AdapterPayload => ({
  client_id: client.clientId,
  client_name: client.name,
  ...(client.secretHash === null
    ? { token_endpoint_auth_method: 'none' }
    : // The hash: ClientSecrets compares the presented secret with it.
      { token_endpoint_auth_method: 'client_secret_basic', client_secret: client.secretHash }),
  scope: [...new Set([...(client.grantTypes.includes('authorization_code') ? identityScopes : []), ...client.scopes, implicitScope])].join(' '),
  [defaultScopeMetadata]: client.scopes.join(' '),
  grant_types: client.grantTypes,
  response_types: client.grantTypes.includes('authorization_code') ? ['code'] : [],
  redirect_uris: client.redirectUris,
  post_logout_redirect_uris: client.postLogoutRedirectUris,
  ...(client.ownerId !== null && { [ownerMetadata]: client.ownerId }),
  ...(client.secretId !== null && { [secretIdMetadata]: client.secretId }),
});

/** Converts to the client view of the API. */
export const toOAuthClient = (client: OAuthClientEntity): OAuthClient => ({
  clientId: client.clientId,
  name: client.name,
  redirectUris: client.redirectUris,
  postLogoutRedirectUris: client.postLogoutRedirectUris,
  grantTypes: client.grantTypes,
  scopes: client.scopes,
  ...(client.ownerName !== null && { owner: client.ownerName }),
  public: client.secretHash === null,
  createdAt: client.createdAt.toISOString(),
});

export const withSecret = (client: OAuthClientEntity, secret: string | undefined): CreatedOAuthClient => ({
  ...toOAuthClient(client),
  ...(secret !== undefined && { secret }),
});

/** Returns the inconsistencies of a new client. Does not check that the owner exists. */
export function clientErrors(client: NewOAuthClient): FieldError[] {
  const { grantTypes, redirectUris = [], postLogoutRedirectUris = [], owner, public: isPublic = false } = client;
  const usesCode = grantTypes.includes('authorization_code');
  const actsAlone = grantTypes.includes('client_credentials');
  const errorIf = (condition: boolean, member: string, detail: string): FieldError[] =>
    condition ? [{ pointer: `/client/${member}`, detail }] : [];
  return [
    ...errorIf(usesCode && redirectUris.length === 0, 'redirectUris', 'must contain an address with authorization_code'),
    ...errorIf(!usesCode && redirectUris.length > 0, 'redirectUris', 'must be empty without authorization_code'),
    ...errorIf(!usesCode && postLogoutRedirectUris.length > 0, 'postLogoutRedirectUris', 'must be empty without authorization_code'),
    ...Object.entries({ redirectUris, postLogoutRedirectUris }).flatMap(([member, uris]) =>
      uris.flatMap((uri, n) =>
        errorIf(
          !isValidRedirectUri(uri),
          `${member}/${n}`,
          'must be a normalised URL with https, or http on 127.0.0.1, [::1] or localhost, without user and fragment',
        ),
      ),
    ),
    ...errorIf(
      !usesCode && grantTypes.includes('refresh_token'),
      'grantTypes',
      'must contain authorization_code if it contains refresh_token',
    ),
    ...errorIf(isPublic && actsAlone, 'public', 'must be false with client_credentials, which needs a secret'),
    ...errorIf(actsAlone && owner === undefined, 'owner', 'is required with client_credentials'),
    ...errorIf(!actsAlone && owner !== undefined, 'owner', 'must be absent without client_credentials'),
  ];
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Redirect URIs are compared as strings, so one that is not in its normal form could never match. */
function isValidRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  if (!url || uri.includes('#') || url.username !== '' || url.password !== '') return false;
  if (url.href !== uri && url.href !== `${uri}/`) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.has(url.hostname));
}

/** @throws DomainError `forbidden` */
export function assertManagesClients(principal: Principal): void {
  if (principal.permissions.includes('write:users')) return;
  throw new DomainError('forbidden', 'Use a credential with write:users.');
}

export const clientNotFound = (): DomainError =>
  new DomainError('oauth-client-not-found', 'There is no OAuth client with this id.');
