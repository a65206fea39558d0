import { identity } from '@plant-shop/contracts/identity';
import type { CreatedOAuthClient, NewOAuthClient } from '@plant-shop/contracts/identity.oauth';
import { Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import * as oauth from 'oauth4webapi';
import type { IdentityOptions } from '../options.js';
import { manager, type Registered, TestIdentity } from '../identity.spec.fixture.js';

export const issuer = 'http://shop.test';
export const redirectUri = 'https://app.example/callback';

type Config = Parameters<typeof TestIdentity.start>[0];

/** Identity's OAuth pages, an application that uses them with an independent library, and browsers. */
export class TestOAuth {
  private constructor(
    readonly shop: TestIdentity,
    readonly server: oauth.AuthorizationServer,
  ) {}

  static async start(config: Config = {}, options: Partial<IdentityOptions> = {}): Promise<TestOAuth> {
    const shop = await TestIdentity.start(config, options);
    const oauthOptions = { ...optionsFor(shop), algorithm: 'oauth2' as const };
    const discovered = await oauth.discoveryRequest(new URL(issuer), oauthOptions);
    return new TestOAuth(shop, await oauth.processDiscoveryResponse(new URL(issuer), discovered));
  }

  /** Options of every request of the library. */
  get options(): Options {
    return optionsFor(this.shop);
  }

  get servedAt(): string {
    return `http://127.0.0.1:${this.shop.httpPort}`;
  }

  browser(): Browser {
    return new Browser(issuer, this.servedAt);
  }

  async register(changed: Partial<NewOAuthClient> = {}): Promise<CreatedOAuthClient> {
    const client = {
      name: 'Garden planner',
      redirectUris: [redirectUri],
      grantTypes: ['authorization_code', 'refresh_token'],
      scopes: ['write:orders', 'webhooks', 'write:plants'],
      ...changed,
    } as NewOAuthClient;
    return this.shop.call(identity.createOAuthClient, { client }, manager);
  }

  /** Creates an authorization request: its URL, and what the application must remember until the response. */
  async request(client: CreatedOAuthClient, changed: Record<string, string | undefined> = {}): Promise<AuthorizationRequest> {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(this.server.authorization_endpoint ?? '');
    const parameters: Record<string, string | undefined> = {
      client_id: client.clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'write:orders',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...changed,
    };
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
    return { url: url.href, verifier, state };
  }

  /** Logs in, allows, and returns the URL of the redirect to the application. */
  async authorize(browser: Browser, request: AuthorizationRequest, user: Registered): Promise<URL> {
    const login = expectPage(await browser.open(request.url));
    const typed = { username: user.username, password: user.password };
    const consent = expectPage(await browser.submit(login, 'action=login', typed));
    return expectRedirect(await browser.submit(consent, 'action=allow'));
  }

  async redeem(client: CreatedOAuthClient, request: AuthorizationRequest, back: URL): Promise<oauth.TokenEndpointResponse> {
    return oauth.processAuthorizationCodeResponse(this.server, { client_id: client.clientId }, await this.codeGrant(client, request, back));
  }

  /** Sends a code to the token endpoint and returns the raw response. */
  codeGrant(client: CreatedOAuthClient, request: AuthorizationRequest, back: URL): Promise<Response> {
    const at = { client_id: client.clientId };
    const parameters = oauth.validateAuthResponse(this.server, at, back, request.state);
    return oauth.authorizationCodeGrantRequest(
      this.server,
      at,
      this.authentication(client),
      parameters,
      redirectUri,
      request.verifier,
      this.options,
    );
  }

  /** Runs the whole flow in a new browser and returns the tokens. */
  async tokens(client: CreatedOAuthClient, user: Registered, scope = 'write:orders'): Promise<oauth.TokenEndpointResponse> {
    const request = await this.request(client, { scope });
    return this.redeem(client, request, await this.authorize(this.browser(), request, user));
  }

  async refresh(client: CreatedOAuthClient, refreshToken: string, httpPort = this.shop.httpPort): Promise<oauth.TokenEndpointResponse> {
    const at = { client_id: client.clientId };
    const response = await oauth.refreshTokenGrantRequest(
      this.server,
      at,
      this.authentication(client),
      refreshToken,
      optionsFor({ httpPort }),
    );
    return oauth.processRefreshTokenResponse(this.server, at, response);
  }

  async introspect(client: CreatedOAuthClient, token: string): Promise<oauth.IntrospectionResponse> {
    const at = { client_id: client.clientId };
    const response = await oauth.introspectionRequest(
      this.server,
      at,
      this.authentication(client),
      token,
      this.options,
    );
    return oauth.processIntrospectionResponse(this.server, at, response);
  }

  async revoke(client: CreatedOAuthClient, token: string): Promise<void> {
    const at = { client_id: client.clientId };
    const response = await oauth.revocationRequest(this.server, at, this.authentication(client), token, this.options);
    await oauth.processRevocationResponse(response);
  }

  authentication({ secret }: CreatedOAuthClient): oauth.ClientAuth {
    return secret === undefined ? oauth.None() : oauth.ClientSecretBasic(secret);
  }

  /** Returns the log's entries after a position, as `kind:id`. */
  async revocations(after = 0): Promise<string[]> {
    const { entries } = await this.shop.call(identity.readRevocations, { after });
    return entries.map(({ kind, id }) => `${kind}:${id}`);
  }

  async head(): Promise<number> {
    return (await this.shop.call(identity.readRevocations, { after: 0 })).head;
  }
}

export interface AuthorizationRequest {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
}

interface Options {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated only as a warning: tests have no TLS
  readonly [oauth.allowInsecureRequests]: true;
  readonly [oauth.customFetch]: (address: string, init: object) => Promise<Response>;
}

/** Sends the library's requests for the public origin to this test's replica. */
const optionsFor = ({ httpPort }: Pick<TestIdentity, 'httpPort'>): Options => ({
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- see above
  [oauth.allowInsecureRequests]: true,
  [oauth.customFetch]: (address, init) =>
    fetch(address.replace(issuer, `http://127.0.0.1:${httpPort}`), init),
});
