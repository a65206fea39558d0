import { DomainError } from '@plant-shop/contracts/errors';
import type { CreatedOAuthClient, NewOAuthClient, OAuthClient } from '@plant-shop/contracts/identity.oauth';
import type { Permission } from '@plant-shop/contracts/permissions';
import type { FieldError } from '@plant-shop/platform/errors';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import type { AdapterPayload } from 'oidc-provider';
import type { OAuthClientEntity } from './oauth-client.entity.js';

/** So that they can be listed whole. */
export const maxClients = 1_000;

/** Names under which a client's metadata carries what is ours. */
export const ownerMetadata = 'owner_user_id';
export const secretIdMetadata = 'secret_id';
/** What it gets where it asks for no scope. */
export const defaultScopeMetadata = 'default_scope';

/** What everybody may do is no right that a client has to be registered for: each may ask for it. */
const ofEverybody: Permission = 'read:plants';

/** The client as the provider knows it (RFC 7591). */
export const metadataOf = (client: OAuthClientEntity): AdapterPayload => ({
  client_id: client.clientId,
  client_name: client.name,
  ...(client.secretHash === null
    ? { token_endpoint_auth_method: 'none' }
    : // The hash: what is shown is compared with it by ClientSecrets.
      { token_endpoint_auth_method: 'client_secret_basic', client_secret: client.secretHash }),
  scope: [...new Set([...(client.grantTypes.includes('authorization_code') ? ['openid'] : []), ...client.scopes, ofEverybody])].join(' '),
  [defaultScopeMetadata]: client.scopes.join(' '),
  grant_types: client.grantTypes,
  response_types: client.grantTypes.includes('authorization_code') ? ['code'] : [],
  redirect_uris: client.redirectUris,
  ...(client.ownerId !== null && { [ownerMetadata]: client.ownerId }),
  ...(client.secretId !== null && { [secretIdMetadata]: client.secretId }),
});

/** The client as those who manage it see it. */
export const toOAuthClient = (client: OAuthClientEntity): OAuthClient => ({
  clientId: client.clientId,
  name: client.name,
  redirectUris: client.redirectUris,
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

/** What does not fit together, whoever the owner is. */
export function clientFaults(client: NewOAuthClient): FieldError[] {
  const { grantTypes, redirectUris = [], owner, public: isPublic = false } = client;
  const usesCode = grantTypes.includes('authorization_code');
  const actsAlone = grantTypes.includes('client_credentials');
  const fault = (isSo: boolean, member: string, detail: string): FieldError[] =>
    isSo ? [{ pointer: `/client/${member}`, detail }] : [];
  return [
    ...fault(usesCode && redirectUris.length === 0, 'redirectUris', 'must hold an address with authorization_code'),
    ...fault(!usesCode && redirectUris.length > 0, 'redirectUris', 'has no use without authorization_code'),
    ...redirectUris.flatMap((uri, n) =>
      fault(
        !isRedirectUri(uri),
        `redirectUris/${n}`,
        'must be https, or http on 127.0.0.1, [::1] or localhost, without user and fragment, and in its normal form',
      ),
    ),
    ...fault(
      !usesCode && grantTypes.includes('refresh_token'),
      'grantTypes',
      'must hold authorization_code beside refresh_token',
    ),
    ...fault(isPublic && actsAlone, 'public', 'must be false with client_credentials: there is no secret to show'),
    ...fault(actsAlone && owner === undefined, 'owner', 'must be given with client_credentials'),
    ...fault(!actsAlone && owner !== undefined, 'owner', 'has no use without client_credentials'),
  ];
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Addresses are compared letter by letter: one that would be written otherwise than it is given can never be met. */
function isRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  if (!url || uri.includes('#') || url.username !== '' || url.password !== '') return false;
  if (url.href !== uri && url.href !== `${uri}/`) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.has(url.hostname));
}

/** @throws DomainError `forbidden` */
export function assertManagesClients(caller: Principal): void {
  if (caller.permissions.includes('write:users')) return;
  throw new DomainError('forbidden', 'OAuth clients are managed with a credential that has write:users.');
}

export const clientNotFound = (): DomainError =>
  new DomainError('oauth-client-not-found', 'There is no OAuth client with this id.');
