import { identity } from '@plant-shop/contracts/identity';
import type { CreatedOAuthClient, NewOAuthClient } from '@plant-shop/contracts/identity.oauth';
import { Browser, expectPage, expectRedirect } from '@plant-shop/testing/browser';
import * as oauth from 'oauth4webapi';
import type { IdentityOptions } from '../options.js';
import { manager, type Registered, TestIdentity } from '../identity.spec.fixture.js';

export const issuer = 'http://shop.test';
export const redirectUri = 'https://app.example/callback';

type Config = Parameters<typeof TestIdentity.start>[0];

/** Identity's OAuth pages, an application that uses them by an independent library, and browsers. */
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

  /** For every request of the library. */
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

  /** What the application sends the browser to, and what it must remember meanwhile. */
  async request(client: CreatedOAuthClient, changed: Record<string, string | undefined> = {}): Promise<Asked> {
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

  /** Logs in, allows, and comes back to the application. */
  async authorize(browser: Browser, asked: Asked, user: Registered): Promise<URL> {
    const login = expectPage(await browser.open(asked.url));
    const typed = { username: user.username, password: user.password };
    const consent = expectPage(await browser.submit(login, 'action=login', typed));
    return expectRedirect(await browser.submit(consent, 'action=allow'));
  }

  async redeem(client: CreatedOAuthClient, asked: Asked, back: URL): Promise<oauth.TokenEndpointResponse> {
    return oauth.processAuthorizationCodeResponse(this.server, { client_id: client.clientId }, await this.codeGrant(client, asked, back));
  }

  /** The answer of the token endpoint to a code, as it came. */
  codeGrant(client: CreatedOAuthClient, asked: Asked, back: URL): Promise<Response> {
    const at = { client_id: client.clientId };
    const parameters = oauth.validateAuthResponse(this.server, at, back, asked.state);
    return oauth.authorizationCodeGrantRequest(
      this.server,
      at,
      this.authentication(client),
      parameters,
      redirectUri,
      asked.verifier,
      this.options,
    );
  }

  /** What the application has in the end of a user's login and consent. */
  async tokens(client: CreatedOAuthClient, user: Registered, scope = 'write:orders'): Promise<oauth.TokenEndpointResponse> {
    const asked = await this.request(client, { scope });
    return this.redeem(client, asked, await this.authorize(this.browser(), asked, user));
  }

  async refresh(client: CreatedOAuthClient, refreshToken: string): Promise<oauth.TokenEndpointResponse> {
    const at = { client_id: client.clientId };
    const response = await oauth.refreshTokenGrantRequest(
      this.server,
      at,
      this.authentication(client),
      refreshToken,
      this.options,
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

  /** The log's entries since a position. */
  async revocations(after = 0): Promise<string[]> {
    const { entries } = await this.shop.call(identity.readRevocations, { after });
    return entries.map(({ kind, id }) => `${kind}:${id}`);
  }

  async head(): Promise<number> {
    return (await this.shop.call(identity.readRevocations, { after: 0 })).head;
  }
}

export interface Asked {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
}

interface Options {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so that it is noticed: tests have no TLS
  readonly [oauth.allowInsecureRequests]: true;
  readonly [oauth.customFetch]: (address: string, init: object) => Promise<Response>;
}

/** The library sees the public address, which only this test's identity serves. */
const optionsFor = ({ httpPort }: TestIdentity): Options => ({
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- see above
  [oauth.allowInsecureRequests]: true,
  [oauth.customFetch]: (address, init) =>
    fetch(address.replace(issuer, `http://127.0.0.1:${httpPort}`), init),
});
