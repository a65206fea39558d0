import { permissions } from '@plant-shop/contracts/permissions';
import {
  type Adapter,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
} from 'oidc-provider';
import { ownerMetadata } from './adapters.js';
import { accessTokenTtl, type KeyRing, signingAlgorithm } from './signing-key.js';

export interface ProviderParts {
  readonly publicUrl: string;
  readonly keys: KeyRing;
  readonly adapterOf: (model: string) => Adapter;
  readonly isSecretRight: (secretHash: string, secret: string, address: string) => Promise<boolean>;
}

/** What access tokens are for: their audience. */
export const resourceOf = (publicUrl: string): string => `${publicUrl}/v3`;

/** The OAuth 2.0 pages, as a Koa application. Clients get access tokens that act for the user who owns the client. */
export function createProvider({ publicUrl, keys, adapterOf, isSecretRight }: ProviderParts): Provider {
  const provider = new Provider(publicUrl, {
    adapter: adapterOf,
    jwks: { keys: [...keys.jwks] as NonNullable<Configuration['jwks']>['keys'] },
    scopes: [...permissions],
    responseTypes: [],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    clientDefaults: { id_token_signed_response_alg: signingAlgorithm },
    extraClientMetadata: { properties: [ownerMetadata] },
    routes: { authorization: '/oauth/authorize', token: '/oauth/token', jwks: '/oauth/jwks' },
    ttl: { ClientCredentials: accessTokenTtl },
    clientBasedCORS: () => false,
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resourceOf(publicUrl),
        getResourceServerInfo: (ctx, resource, client) => ({
          ...resourceServer(ctx, resource, client.scope ?? '', publicUrl),
          jwt: { sign: { alg: signingAlgorithm, kid: keys.signingKid } },
        }),
      },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    formats: {
      customizers: {
        jwt: (_, token, { payload }) => {
          // By default the subject of such a token is the client itself; ours acts for the client's owner.
          if (token.kind === 'ClientCredentials') payload['sub'] = token.client?.[ownerMetadata];
        },
      },
    },
    renderError: (ctx, out) => {
      ctx.body = out;
    },
  });
  provider.proxy = true;
  // The one address that the gateway vouches for; those before it are the client's to invent.
  provider.maxIpsCount = 1;
  provider.Client.prototype.compareClientSecret = function (secret) {
    return isSecretRight(this.clientSecret ?? '', secret, Provider.ctx?.ip ?? '');
  };
  return provider;
}

/**
 * The API, with the scopes that the client has. The provider asks before it looks at the scopes of the request, and
 * would by itself give none where none is asked for, and drop those that it does not know.
 */
function resourceServer(
  ctx: KoaContextWithOIDC,
  resource: string,
  clientScope: string,
  publicUrl: string,
): ResourceServer {
  if (resource !== resourceOf(publicUrl))
    throw new errors.InvalidTarget(`the only resource is ${resourceOf(publicUrl)}`);
  const { params } = ctx.oidc;
  if (params?.['grant_type'] === 'client_credentials') {
    const asked = typeof params['scope'] === 'string' ? params['scope'] : undefined;
    const has = clientScope.split(' ');
    const refused = asked?.split(' ').find((one) => !has.includes(one));
    if (refused !== undefined) throw new errors.InvalidScope('requested scope is not allowed', refused);
    params['scope'] = asked ?? clientScope;
  }
  return {
    scope: clientScope,
    accessTokenFormat: 'jwt',
    accessTokenTTL: accessTokenTtl,
  };
}
