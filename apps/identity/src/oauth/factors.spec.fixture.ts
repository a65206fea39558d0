import { type Browser, type BrowserPage, expectPage } from '@plant-shop/testing/browser';
import { Secret, TOTP } from 'otpauth';
import { type Behaviour, TestAuthenticator } from '../factors/authenticator.spec.fixture.js';
import type { Registered } from '../identity.spec.fixture.js';
import { issuer, type TestOAuth } from './oauth.spec.fixture.js';

const factorsAddress = `${issuer}/account/factors`;

const entities: Readonly<Record<string, string>> = { '&quot;': '"', '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#39;': "'" };

/** Returns what a page asks authenticators for. */
export function optionsIn({ text, url }: BrowserPage): { challenge: string; rp: { id: string }; user: { id: string }; rpId: string } {
  const [, found] = /data-options="([^"]*)"/.exec(text) ?? [];
  if (found === undefined) throw new Error(`${url} asks for no passkey:\n${text}`);
  return JSON.parse(found.replaceAll(/&(?:quot|amp|lt|gt|#39);/g, (one) => entities[one] ?? one)) as ReturnType<typeof optionsIn>;
}

/** Returns the code of an app at another time step than the present one. */
export const codeOf = (secret: string, steps = 0): string => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

export const secretIn = ({ text }: BrowserPage): string => (/Key: <code>([^<]+)</.exec(text)?.[1] ?? '').replaceAll(' ', '');

export const codesIn = ({ text }: BrowserPage): string[] => [...text.matchAll(/<li><code>([^<]+)</g)].map(([, one = '']) => one);

/** A user with a browser, on the pages of second factors. */
export class FactorUser {
  readonly browser: Browser;
  page: BrowserPage | undefined;

  constructor(
    readonly oauth: TestOAuth,
    readonly client: Awaited<ReturnType<TestOAuth['register']>>,
    readonly user: Registered,
  ) {
    this.browser = oauth.browser();
  }

  /** Opens the login page of an application. */
  async open(changed: Record<string, string> = {}): Promise<BrowserPage> {
    return expectPage(await this.browser.open((await this.oauth.request(this.client, changed)).url));
  }

  /** Sends the password. */
  async logIn(): Promise<BrowserPage> {
    return expectPage(await this.browser.submit(await this.open(), 'action=login', { username: this.user.username, password: this.user.password }));
  }

  /** Opens the page of the own second factors, after a login by the password alone. */
  async ownFactors(): Promise<BrowserPage> {
    await this.logIn();
    return this.reopen();
  }

  async reopen(): Promise<BrowserPage> {
    return expectPage(await this.browser.open(factorsAddress));
  }

  /** Adds a passkey on a page. */
  async addPasskey(page: BrowserPage, key = new TestAuthenticator(issuer), behaviour: Behaviour = {}): Promise<{ key: TestAuthenticator; page: BrowserPage }> {
    const credential = key.create(optionsIn(page), behaviour);
    return { key, page: expectPage(await this.browser.submit(page, '=', { credential, name: 'Laptop' })) };
  }

  /** Adds an app on a page. Its present code works once more afterwards. */
  async addApp(page: BrowserPage): Promise<{ secret: string; page: BrowserPage }> {
    const secret = secretIn(page);
    const added = expectPage(await this.browser.submit(page, 'action=add-app', { code: codeOf(secret), name: 'Phone' }));
    await this.oauth.shop.sql.query('UPDATE factors SET last_step = last_step - 10 WHERE user_id = (SELECT user_id FROM users WHERE username = $1)', [this.user.username]);
    return { secret, page: added };
  }

  async usePasskey(page: BrowserPage, key: TestAuthenticator, behaviour: Behaviour = {}): Promise<BrowserPage> {
    return expectPage(await this.browser.submit(page, '=', { credential: key.get(optionsIn(page), behaviour) }));
  }

  async typeCode(page: BrowserPage, code: string): Promise<BrowserPage> {
    return expectPage(await this.browser.submit(page, 'action=code', { code }));
  }

  /** Logs in by a passkey alone. */
  async passkeyPage(): Promise<BrowserPage> {
    const page = await this.open();
    return expectPage(await this.browser.open(`${page.url}/passkey`));
  }
}
