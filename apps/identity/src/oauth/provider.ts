import { hkdfSync } from 'node:crypto';
import { Readable } from 'node:stream';
import { permissions } from '@plant-shop/contracts/permissions';
import {
  type Adapter,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
} from 'oidc-provider';
import type { DatabaseClock } from '../database-clock.js';
import { apiResource, resourcesOf, toOpaque } from './access-token.js';
import { type PageContext, readForm } from './form-guard.js';
import { accountClient, accountClientId, defaultScopeMetadata, identityScopes, ownerMetadata, secretIdMetadata } from './oauth-client.js';
import { logoutPage, messagePage, renderError, sendPage } from './pages.js';
import { responsesInDatabaseTime } from './provider-times.js';
import { accessTokenTtl, type KeyRing, signingAlgorithm } from './signing-key.js';
import type { UserRecord } from '../users/user.js';

/** The provider's own limit. */
const maxFormBytes = 56 * 1024;
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** Where the provider looks a token up, and the field of the form that may contain it. */
const tokenFields: ReadonlyMap<string, string> = new Map([
  ['/oauth/revoke', 'token'],
  ['/oauth/introspect', 'token'],
  ['/oauth/userinfo', 'access_token'],
]);

/** Middleware that lets JWT access tokens be revoked, introspected and used at the UserInfo endpoint, see `toOpaque`. */
async function opaqueTokens(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  const field = tokenFields.get(ctx.path);
  const { authorization } = ctx.req.headers;
  if (field === 'access_token' && authorization !== undefined) {
    ctx.req.headers.authorization = authorization.replace(/(?<=^bearer )[\w-]+\.[\w-]+\.[\w-]*$/i, toOpaque);
  }
  if (ctx.method === 'POST' && field !== undefined && ctx.is('application/x-www-form-urlencoded')) {
    const form = await readForm(ctx.req, maxFormBytes);
    if (form === undefined) {
      refuseLongForm(ctx);
      return;
    }
    const body = Buffer.from(rewritten(form, field));
    ctx.req.headers['content-length'] = String(body.length);
    delete ctx.req.headers['transfer-encoding'];
    // The provider reads the form from this stream, and everything else from the original request.
    ctx.req = Object.assign(Readable.from([body]), { headers: ctx.req.headers }) as typeof ctx.req;
  }
  await next();
}

function rewritten(form: string, field: string): string {
  const fields = new URLSearchParams(form);
  const tokens = fields.getAll(field);
  const [token = ''] = tokens;
  // The provider refuses a repeated token, so leave it unchanged.
  if (tokens.length !== 1 || !jwtForm.test(token)) return form;
  fields.set(field, toOpaque(token));
  return fields.toString();
}

function refuseLongForm(ctx: PageContext): void {
  ctx.status = 413;
  ctx.body = { error: 'invalid_request', error_description: 'the form is too long' };
}

export interface ProviderOptions {
  readonly publicUrl: string;
  readonly keys: KeyRing;
  readonly sessionTtlHours: number;
  readonly adapterOf: (model: string) => Adapter;
  readonly isSecretRight: (secretHash: string, secret: string, address: string) => Promise<boolean>;
  /** @returns undefined when the user was deleted */
  readonly userOf: (userId: string) => Promise<OAuthUser | undefined>;
  readonly isSessionLive: (session: ProviderSessionRef) => Promise<boolean>;
  /** Ends our session of a browser login, by the provider's id. */
  readonly endSession: (uid: string) => Promise<void>;
  /** Returns the refresh token that replaces another. */
  readonly successorOf: (refreshToken: string) => string;
  readonly clock: Pick<DatabaseClock, 'now' | 'secondsAhead'>;
}

/** The user data that the provider needs. */
type OAuthUser = Pick<UserRecord, 'username' | 'firstName' | 'lastName' | 'email' | 'emailVerifiedAt' | 'role'>;

/** The provider's session of a browser, and the login that opened it. */
export interface ProviderSessionRef {
  readonly userId: string;
  /** The provider's id of the session. */
  readonly uid: string;
  /** Id of our session that a login in this request opened. */
  readonly openedId: string | undefined;
}

/** How a login was proven, for applications: by one factor, or by two. A passkey counts as two. */
export const acrOf = (provedFactor: boolean): string => `urn:plant-shop:acr:${provedFactor ? 'two-factors' : 'one-factor'}`;

export const interactionPath = '/oauth/interaction';
const endSessionPath = '/oauth/logout';

const day = 86_400;
/** Lifetime of a grant, in seconds; then consent is requested again. */
const grantTtl = 180 * day;
/** Lifetime of an unused refresh token, in seconds. Each use replaces the token. */
const refreshTokenTtl = 30 * day;
const interactionTtl = 1_800;
const authorizationCodeTtl = 60;

/** Creates the OAuth 2.0 provider, which is a Koa application. */
export function createProvider(parts: ProviderOptions): Provider {
  const { publicUrl, keys, sessionTtlHours, adapterOf, isSecretRight, userOf, clock } = parts;
  const signing = [...keys.jwks].sort((a, b) => Number(b.kid === keys.signingKid) - Number(a.kid === keys.signingKid));
  const isSecure = publicUrl.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure: isSecure, overwrite: true } as const;
  const provider = new Provider(publicUrl, {
    adapter: adapterOf,
    clients: [accountClient(publicUrl)],
    // The provider signs ID tokens with the first key.
    jwks: { keys: signing },
    scopes: [...identityScopes, ...permissions],
    acrValues: [acrOf(false), acrOf(true)],
    claims: { openid: ['sub', 'preferred_username', 'auth_time', 'acr', 'amr'], profile: ['given_name', 'family_name'], email: ['email', 'email_verified'] },
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
      userinfo: '/oauth/userinfo',
      end_session: endSessionPath,
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
      Grant: (_, { clientId }) => (clientId === accountClientId ? authorizationCodeTtl : grantTtl),
      Interaction: interactionTtl,
      // Without a login, of a page that asks to log out.
      Session: (_, { accountId }) => (accountId === undefined ? interactionTtl : sessionTtlHours * 3_600),
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
    // Only the gateway sends CORS headers, by its setting.
    clientBasedCORS: () => false,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    loadExistingGrant: (ctx) => existingGrant(ctx, publicUrl),
    findAccount: async (_, sub) => {
      const user = await userOf(sub);
      return user && { accountId: sub, claims: (use) => ({ sub, preferred_username: user.username, ...(use === 'userinfo' && profileClaims(user)) }) };
    },
    interactions: { policy: policyWith(parts.isSessionLive, publicUrl), url: (_, { uid }) => `${interactionPath}/${uid}` },
    features: {
      clientCredentials: { enabled: true },
      revocation: { enabled: true, allowedPolicy: isOwnToken },
      introspection: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => apiResource(publicUrl),
        // Otherwise tokens with `openid` would be for the UserInfo endpoint alone.
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource, client) => ({
          ...resourceServer(ctx, resource, { has: client.scope ?? '', byDefault: String(client[defaultScopeMetadata]) }, publicUrl),
          jwt: { sign: { alg: signingAlgorithm, kid: keys.signingKid } },
        }),
      },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: true, logoutSource: askToLogOut, postLogoutSuccessSource: sendLoggedOut },
    },
    formats: {
      customizers: {
        jwt: (_, token, { payload }) => {
          // By default the subject would be the client itself. Our token acts for the client's owner.
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
  // Only the last address is set by the gateway; clients can forge the ones before it.
  provider.maxIpsCount = 1;
  provider.Client.prototype.compareClientSecret = function (secret) {
    return isSecretRight(this.clientSecret ?? '', secret, Provider.ctx?.ip ?? '');
  };
  const tokens = provider.RefreshToken.prototype as unknown as { generateTokenId: (this: unknown) => string };
  const { generateTokenId } = tokens;
  tokens.generateTokenId = function () {
    const { RotatedRefreshToken: replaced } = Provider.ctx?.oidc.entities ?? {};
    return replaced ? parts.successorOf(replaced.jti) : generateTokenId.call(this);
  };
  const sessions: { destroy: (this: InstanceType<Provider['Session']>) => Promise<void> } = provider.Session.prototype;
  const { destroy } = sessions;
  sessions.destroy = async function () {
    if (this.accountId !== undefined) await parts.endSession(this.uid);
    return destroy.call(this);
  };
  issueIdTokensInDatabaseTime(provider, clock);
  provider.use(responsesInDatabaseTime(clock));
  provider.use(opaqueTokens);
  provider.use(setContentSecurityPolicy);
  provider.use(refuseHead);
  provider.use(withoutEmptyText);
  return provider;
}

/** Issues ID tokens in the database's time by patching `issue`: the provider has no customizer for ID tokens. */
function issueIdTokensInDatabaseTime(provider: Provider, clock: ProviderOptions['clock']): void {
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

/** Derives the cookie keys from the signing keys, so that they rotate together; a cookie ends soon after its key. */
const cookieKeys = (keys: KeyRing['jwks']): Buffer[] =>
  keys.map(({ d }) => Buffer.from(hkdfSync('sha256', d ?? '', '', 'OAuth cookies', 32)));

/** Returns what the user has granted the client. Users do not grant their own account page anything, but the provider needs a grant. */
async function existingGrant({ oidc }: KoaContextWithOIDC, publicUrl: string): Promise<InstanceType<Provider['Grant']> | undefined> {
  const { client, session, provider, result } = oidc;
  if (client?.clientId !== accountClientId) {
    const grantId = result?.consent?.grantId ?? session?.grantIdFor(client?.clientId ?? '');
    return grantId === undefined ? undefined : provider.Grant.find(grantId);
  }
  const grant = new provider.Grant({ clientId: accountClientId, accountId: session?.accountId ?? '' });
  grant.addOIDCScope('openid');
  grant.addResourceScope(apiResource(publicUrl), 'openid');
  await grant.save();
  return grant;
}

/**
 * Extends the provider's policy: login is required when our session has ended, and consent is required each time for an
 * application that can be impersonated.
 */
function policyWith(isSessionLive: ProviderOptions['isSessionLive'], publicUrl: string): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  policy.get('login')?.checks.add(
    new Check('login_ended', 'the login has ended', async ({ oidc }) => {
      const { accountId, uid } = oidc.session ?? {};
      // The provider's own check then requires a login.
      if (accountId === undefined || uid === undefined) return Check.NO_NEED_TO_PROMPT;
      if (!oidc.account) return Check.REQUEST_PROMPT;
      const openedId = oidc.result?.login?.['sessionId'] as string | undefined;
      return (await isSessionLive({ userId: accountId, uid, openedId })) ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT;
    }),
  );
  policy.get('consent')?.checks.add(
    new Check('client_unproven', 'any local program could impersonate the application', 'consent_required', ({ oidc }) =>
      oidc.client && canBeImpersonated(oidc.client, oidc.params?.['redirect_uri'], publicUrl) && !oidc.result?.consent
        ? Check.REQUEST_PROMPT
        : Check.NO_NEED_TO_PROMPT,
    ),
  );
  return policy;
}

/**
 * Returns whether another program can impersonate the application: it has no secret and redirects to a local port, on which
 * any local program may listen (RFC 8252, 8.6). The shop's own origin is exempt: a program that listens there could fake the
 * login page as well.
 */
function canBeImpersonated(
  client: { readonly clientAuthMethod?: string | undefined },
  redirectUri: unknown,
  publicUrl: string,
): boolean {
  return client.clientAuthMethod === 'none' && String(redirectUri).startsWith('http:') && !returnsToShop(redirectUri, publicUrl);
}

/** Returns whether a page of the shop itself, such as the console, gets the answer. */
export const returnsToShop = (redirectUri: unknown, publicUrl: string): boolean => new URL(String(redirectUri)).origin === new URL(publicUrl).origin;

/** Refuses to revoke another client's token, with an error as RFC 7009 requires. */
function isOwnToken(_: unknown, client: { clientId: string }, token: { clientId?: string | undefined }): boolean {
  if (token.clientId !== client.clientId) {
    throw new errors.InvalidRequest('client is not authorized to revoke the presented token');
  }
  return true;
}

/**
 * Describes a resource to the provider, with the client's scopes. The provider calls it before it reads the requested scopes, so
 * they are resolved here: by default, the provider grants none if none is requested, and drops unknown ones.
 */
function resourceServer(
  ctx: KoaContextWithOIDC,
  resource: string,
  client: { readonly has: string; readonly byDefault: string },
  publicUrl: string,
): ResourceServer {
  const resources = resourcesOf(publicUrl);
  if (!resources.includes(resource)) throw new errors.InvalidTarget(`the resources are ${resources.join(' and ')}`);
  const { params, route } = ctx.oidc;
  if (params && (route === 'authorization' || params['grant_type'] === 'client_credentials')) {
    params['scope'] = resolveScope(params['scope'], client);
  }
  return {
    // Also `openid`, `profile` and `email`, which the UserInfo endpoint requires.
    scope: client.has,
    accessTokenFormat: 'jwt',
    accessTokenTTL: accessTokenTtl,
  };
}

/**
 * Middleware that sets a Content-Security-Policy for authorization responses and logouts. With `response_mode=form_post`, and to
 * log out without a login, the provider sends a page whose script submits a form, and adds the script's hash to an existing
 * policy. The gateway's default policy would block the script.
 */
async function setContentSecurityPolicy(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  if (ctx.path.startsWith('/oauth/authorize') || ctx.path === endSessionPath) {
    ctx.set('Content-Security-Policy', "default-src 'none'; script-src 'none'; base-uri 'none'; frame-ancestors 'none'");
  }
  await next();
}

/** Middleware that refuses HEAD, which caches and link checkers send: like GET, it would start or resume an authorization. */
async function refuseHead(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  if (ctx.method === 'HEAD' && ctx.path.startsWith('/oauth/authorize')) {
    ctx.status = 405;
    ctx.set('Allow', 'GET');
    return;
  }
  await next();
}

/** Middleware that removes the type of an empty response, of a revocation: clients would refuse it as no JSON. */
async function withoutEmptyText(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  await next();
  if (ctx.body === '') ctx.remove('Content-Type');
}

/** The claims of the scopes `profile` and `email`, at the UserInfo endpoint only: ID tokens end up in URLs. */
const profileClaims = ({ firstName, lastName, email, emailVerifiedAt }: OAuthUser): Record<string, unknown> => ({
  ...(firstName !== null && { given_name: firstName }),
  ...(lastName !== null && { family_name: lastName }),
  ...(email !== null && { email, email_verified: emailVerifiedAt !== null }),
});

/** Asks the user to log out, as OpenID Connect RP-Initiated Logout requires. Of the user's grants, a logout ends the application's. */
function askToLogOut(ctx: KoaContextWithOIDC): void {
  const { session, client, params } = ctx.oidc;
  for (const [clientId, authorization] of Object.entries(session?.authorizations ?? {})) {
    authorization.persistsLogout = clientId !== client?.clientId;
  }
  const address = params?.['post_logout_redirect_uri'];
  const page = logoutPage({ action: `${endSessionPath}/confirm`, proof: String(session?.state?.['secret']), client: client?.clientName ?? client?.clientId });
  sendPage(ctx, typeof address === 'string' ? { ...page, redirectUri: address } : page);
}

const sendLoggedOut = (ctx: KoaContextWithOIDC): void => sendPage(ctx, messagePage('Logged out', 'You are logged out of the plant shop.'));

/** Returns the requested scopes, by default all that the client was registered for. @throws InvalidScope */
function resolveScope(requested: unknown, { has, byDefault }: { readonly has: string; readonly byDefault: string }): string {
  if (typeof requested !== 'string') return byDefault;
  // Libraries request `offline_access` for a refresh token; here the client's registration decides about refresh tokens.
  const scopes = requested.split(' ').filter((one) => one !== 'offline_access');
  const allowed = has.split(' ');
  const refused = scopes.find((one) => !allowed.includes(one));
  if (refused !== undefined) throw new errors.InvalidScope('requested scope is not allowed', refused);
  return scopes.join(' ');
}
