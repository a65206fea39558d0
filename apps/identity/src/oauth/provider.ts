import { hkdfSync } from 'node:crypto';
import { type Permission, permissions } from '@plant-shop/contracts/permissions';
import {
  type Account,
  type Adapter,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
} from 'oidc-provider';
import { resourceOf } from './access-token.js';
import type { DatabaseClock } from '../credentials/database-clock.js';
import type { PageContext } from './form.js';
import { defaultScopeMetadata, ownerMetadata, secretIdMetadata } from './oauth-client.js';
import { renderError } from './pages.js';
import { answersInDatabaseTime } from './provider-times.js';
import { accessTokenTtl, type KeyRing, signingAlgorithm } from './signing-key.js';
import { unstructuredTokens } from './unstructured-tokens.js';

export interface ProviderParts {
  readonly publicUrl: string;
  readonly keys: KeyRing;
  readonly sessionTtlHours: number;
  readonly adapterOf: (model: string) => Adapter;
  readonly isSecretRight: (secretHash: string, secret: string, address: string) => Promise<boolean>;
  /** @returns undefined when the user is gone */
  readonly userOf: (userId: string) => Promise<{ readonly username: string; readonly permissions: readonly Permission[] } | undefined>;
  readonly isLoggedIn: (login: BrowserLogin) => Promise<boolean>;
  readonly clock: Pick<DatabaseClock, 'now' | 'secondsAhead'>;
}

/** A login in a browser, as the provider's session knows it. */
export interface BrowserLogin {
  readonly userId: string;
  /** The provider's name for its session. */
  readonly uid: string;
  /** The session that this very request's login has opened. */
  readonly openedId: string | undefined;
}

/** A user, as far as the provider must know. */
export interface UserAccount extends Account {
  readonly permissions: readonly Permission[];
}

export const interactionPath = '/oauth/interaction';

const day = 86_400;
/** What a user granted is asked for again after this. */
const grantTtl = 180 * day;
/** A refresh token that is not used for so long ends; each use gives another one. */
const refreshTokenTtl = 30 * day;
const interactionTtl = 1_800;
const authorizationCodeTtl = 60;

/** The OAuth 2.0 pages, as a Koa application. */
export function createProvider(parts: ProviderParts): Provider {
  const { publicUrl, keys, sessionTtlHours, adapterOf, isSecretRight, userOf, clock } = parts;
  const signing = [...keys.jwks].sort((a, b) => Number(b.kid === keys.signingKid) - Number(a.kid === keys.signingKid));
  const isSecure = publicUrl.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure: isSecure, overwrite: true } as const;
  const provider = new Provider(publicUrl, {
    adapter: adapterOf,
    // ID tokens are signed with the first.
    jwks: { keys: signing },
    scopes: ['openid', ...permissions],
    claims: { openid: ['sub', 'preferred_username'] },
    responseTypes: ['code'],
    subjectTypes: ['public'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: { id_token_signed_response_alg: signingAlgorithm },
    enabledJWA: { idTokenSigningAlgValues: [signingAlgorithm] },
    extraClientMetadata: { properties: [ownerMetadata, secretIdMetadata, defaultScopeMetadata] },
    allowOmittingSingleRegisteredRedirectUri: false,
    pkce: { required: () => true },
    routes: {
      authorization: '/oauth/authorize',
      token: '/oauth/token',
      jwks: '/oauth/jwks',
      revocation: '/oauth/revoke',
      introspection: '/oauth/introspect',
      end_session: '/oauth/session/end',
    },
    discovery: {
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      service_documentation: `${publicUrl}/docs`,
    },
    ttl: {
      ClientCredentials: accessTokenTtl,
      AccessToken: accessTokenTtl,
      AuthorizationCode: authorizationCodeTtl,
      RefreshToken: refreshTokenTtl,
      IdToken: accessTokenTtl,
      Grant: grantTtl,
      Interaction: interactionTtl,
      Session: sessionTtlHours * 3_600,
    },
    cookies: {
      // The prefixes keep neighbouring hosts from setting them (RFC 6265bis).
      names: {
        session: isSecure ? '__Host-plant_shop_login' : 'plant_shop_login',
        interaction: isSecure ? '__Secure-plant_shop_step' : 'plant_shop_step',
        resume: isSecure ? '__Secure-plant_shop_resume' : 'plant_shop_resume',
      },
      long: cookie,
      short: cookie,
      keys: cookieKeys(signing),
    },
    // The gateway answers for all of its origin, by setting.
    clientBasedCORS: () => false,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    findAccount: async (_, sub) => {
      const user = await userOf(sub);
      const account: UserAccount | undefined = user && {
        accountId: sub,
        claims: () => ({ sub, preferred_username: user.username }),
        permissions: user.permissions,
      };
      return account;
    },
    interactions: { policy: policyWith(parts.isLoggedIn, publicUrl), url: (_, { uid }) => `${interactionPath}/${uid}` },
    features: {
      clientCredentials: { enabled: true },
      revocation: { enabled: true, allowedPolicy: isOwnToken },
      introspection: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resourceOf(publicUrl),
        getResourceServerInfo: (ctx, resource, client) => ({
          ...resourceServer(ctx, resource, { has: client.scope ?? '', byDefault: String(client[defaultScopeMetadata]) }, publicUrl),
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
          else payload['grant_id'] = token.grantId;
          const secretId = token.client?.[secretIdMetadata];
          if (secretId !== undefined) payload['secret_id'] = secretId;
          for (const name of ['iat', 'exp']) payload[name] = Number(payload[name]) + clock.secondsAhead();
        },
      },
    },
    renderError,
  });
  provider.proxy = true;
  // The one address that the gateway vouches for; those before it are the client's to invent.
  provider.maxIpsCount = 1;
  provider.Client.prototype.compareClientSecret = function (secret) {
    return isSecretRight(this.clientSecret ?? '', secret, Provider.ctx?.ip ?? '');
  };
  issueIdTokensInDatabaseTime(provider, clock);
  provider.use(answersInDatabaseTime(clock));
  provider.use(unstructuredTokens);
  provider.use(ownPolicy);
  provider.use(refuseHead);
  return provider;
}

/** ID tokens in the database's time: the provider has no customizer for them. */
function issueIdTokensInDatabaseTime(provider: Provider, clock: ProviderParts['clock']): void {
  const prototype: { issue: (this: IdToken, context: Parameters<IdToken['issue']>[0]) => Promise<string> } = provider.IdToken.prototype;
  const { issue } = prototype;
  prototype.issue = function (context) {
    const iat = Math.floor(clock.now() / 1_000);
    this.set('iat', iat);
    const { available } = this;
    if (typeof available['auth_time'] === 'number') available['auth_time'] += clock.secondsAhead();
    return issue.call(this, { expiresAt: iat + accessTokenTtl, ...context });
  };
}

type IdToken = InstanceType<Provider['IdToken']>;

/** They change with the signing keys, and with them only: cookies outlive the keys that they were signed with by little. */
const cookieKeys = (keys: KeyRing['jwks']): Buffer[] =>
  keys.map(({ d }) => Buffer.from(hkdfSync('sha256', d ?? '', '', 'OAuth cookies', 32)));

/**
 * The provider's own policy, and: a login counts only while the session that it opened does, and an application that
 * cannot be known is allowed anew each time.
 */
function policyWith(isLoggedIn: ProviderParts['isLoggedIn'], publicUrl: string): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  policy.get('login')?.checks.add(
    new Check('login_ended', 'the login has ended', async ({ oidc }) => {
      const { accountId, uid } = oidc.session ?? {};
      // The provider's own check asks for a login.
      if (accountId === undefined || uid === undefined) return Check.NO_NEED_TO_PROMPT;
      if (!oidc.account) return Check.REQUEST_PROMPT;
      const openedId = oidc.result?.login?.['sessionId'] as string | undefined;
      return (await isLoggedIn({ userId: accountId, uid, openedId })) ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT;
    }),
  );
  policy.get('consent')?.checks.add(
    new Check('client_unproven', 'any program could pose as the application', 'consent_required', ({ oidc }) =>
      oidc.client && isUnproven(oidc.client, oidc.params?.['redirect_uri'], publicUrl) && !oidc.result?.consent
        ? Check.REQUEST_PROMPT
        : Check.NO_NEED_TO_PROMPT,
    ),
  );
  return policy;
}

/**
 * Without a secret, on a port that whatever runs on the user's machine may listen on: RFC 8252, 8.6. Not so the shop's own
 * address: a program that listens there could show a log-in page of its own just as well.
 */
const isUnproven = (client: { readonly clientAuthMethod?: string | undefined }, redirectUri: unknown, publicUrl: string): boolean => {
  const address = String(redirectUri);
  return client.clientAuthMethod === 'none' && address.startsWith('http:') && new URL(address).origin !== new URL(publicUrl).origin;
};

/** RFC 7009: whoever shows another client's token is told so. */
function isOwnToken(_: unknown, client: { clientId: string }, token: { clientId?: string | undefined }): boolean {
  if (token.clientId !== client.clientId) {
    throw new errors.InvalidRequest('client is not authorized to revoke the presented token');
  }
  return true;
}

/**
 * The API, with the scopes that the client has. The provider asks before it looks at the scopes of the request, and
 * would by itself give none where none is asked for, and drop those that it does not know.
 */
function resourceServer(
  ctx: KoaContextWithOIDC,
  resource: string,
  client: { readonly has: string; readonly byDefault: string },
  publicUrl: string,
): ResourceServer {
  if (resource !== resourceOf(publicUrl))
    throw new errors.InvalidTarget(`the only resource is ${resourceOf(publicUrl)}`);
  const { params, route } = ctx.oidc;
  if (params && (route === 'authorization' || params['grant_type'] === 'client_credentials')) {
    params['scope'] = allowedScope(params['scope'], client);
  }
  return {
    // `openid` is for the ID token; the API knows nothing of it.
    scope: client.has.split(' ').filter((one) => one !== 'openid').join(' '),
    accessTokenFormat: 'jwt',
    accessTokenTTL: accessTokenTtl,
  };
}

/**
 * An answer by `response_mode=form_post` is a page of the provider's whose script sends its form. It adds the script to a
 * policy that it finds; under the gateway's own the script would not run.
 */
async function ownPolicy(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  if (ctx.path.startsWith('/oauth/authorize')) {
    ctx.set('Content-Security-Policy', "default-src 'none'; script-src 'none'; base-uri 'none'; frame-ancestors 'none'");
  }
  await next();
}

/** A GET here begins an authorization, or goes on with one: HEAD, which caches and link checkers send without a thought, must not. */
async function refuseHead(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  if (ctx.method === 'HEAD' && ctx.path.startsWith('/oauth/authorize')) {
    ctx.status = 405;
    ctx.set('Allow', 'GET, POST');
    return;
  }
  await next();
}

/** Without one asked for: all that the client was registered for. @throws InvalidScope */
function allowedScope(asked: unknown, { has, byDefault }: { readonly has: string; readonly byDefault: string }): string {
  if (typeof asked !== 'string') return byDefault;
  // Libraries ask for it to get a refresh token, which clients here get or not as they were registered.
  const scopes = asked.split(' ').filter((one) => one !== 'offline_access');
  const allowed = has.split(' ');
  const refused = scopes.find((one) => !allowed.includes(one));
  if (refused !== undefined) throw new errors.InvalidScope('requested scope is not allowed', refused);
  return scopes.join(' ');
}
