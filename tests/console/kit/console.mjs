import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { untilStill } from './boxes.mjs';
import { address } from './people.mjs';

/** How long tests wait for a condition, for a busy machine. Tests never wait for a fixed time. */
export const TIMEOUT_MS = 30_000;
/** How often a page is looked at if something moved during each look. */
const MOST_LOOKS = 5;

/** The sandbox refuses root, as which tests run on some machines; the other options prevent calls to the vendor's servers. */
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A browser for one test file, with a separate context for each page. */
export class Chrome {
  /** @type {import('playwright-core').Browser | undefined} */
  #browser;
  /** Storage states of users that have logged in, by username. @type {Map<string, Awaited<ReturnType<import('playwright-core').BrowserContext['storageState']>>>} */
  #storageStates = new Map();
  /** @type {import('playwright-core').BrowserContext[]} */
  #contexts = [];

  /** @param {import('./chromium-binary.mjs').Chromium} [found] by default that of the environment */
  async open({ binary, env } = { binary: process.env['CHROMIUM_BINARY'] ?? '', env: {} }) {
    if (binary === '') throw new Error('CHROMIUM_BINARY is not set: run these tests with "npm test -- --only console".');
    this.#browser = await chromium.launch({ executablePath: binary, args, env: { ...process.env, ...env } });
  }

  async close() {
    await this.#browser?.close();
  }

  /**
   * Opens a page of the console as a logged-in user.
   * @param {import('./people.mjs').Person} person
   * @param {object} [options]
   * @param {string} [options.path] path within the console, such as `/orders`
   * @param {'light' | 'dark'} [options.scheme]
   * @param {{ width: number, height: number }} [options.viewport]
   * @param {string} [options.locale] of the browser
   * @param {RegExp} [options.missing] files that the shop does not have, until the test calls `unroute`
   * @param {[RegExp, Promise<unknown>]} [options.held] files that get lost once the promise resolves
   * @returns {Promise<Visit>}
   */
  async visit(person, { path = '/', scheme = 'light', viewport = { width: 1280, height: 860 }, locale = 'en-GB', missing, held } = {}) {
    const storageState = this.#storageStates.get(person.username);
    const visit = await this.newVisit({ scheme, viewport, locale, ...(storageState && { storageState }) });
    if (missing) await visit.page.route(missing, (route) => route.fulfill({ status: 404 }));
    if (held) await visit.page.route(held[0], (route) => held[1].then(() => route.abort('internetdisconnected')));
    await visit.page.goto(`${address}/console${path}`);
    if (!storageState) {
      await logIn(visit.page, person);
      this.#storageStates.set(person.username, await visit.page.context().storageState());
    }
    await visit.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return visit;
  }

  /**
   * Opens an empty page without a login, unless `storageState` has one.
   * @param {{ scheme?: 'light' | 'dark', viewport?: { width: number, height: number }, locale?: string, storageState?: any }} [options]
   */
  async newVisit({ scheme = 'light', ...options } = {}) {
    if (!this.#browser) throw new Error('The browser is not open.');
    const context = await this.#browser.newContext({ colorScheme: scheme, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
    context.setDefaultTimeout(TIMEOUT_MS);
    this.#contexts.push(context);
    return new Visit(await context.newPage());
  }
}

/** A page and the errors in its browser console. */
export class Visit {
  /** @type {string[]} */
  errors = [];

  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    page.on('console', (message) => {
      // On a busy machine a service may not be ready for a moment. The page polls /readyz, and browsers log its 503.
      if (message.location().url.endsWith('/readyz')) return;
      if (message.type() === 'error' || message.type() === 'warning') this.errors.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => this.errors.push(`${error}`));
  }

  /**
   * Closes the page. The browser console must contain no unexpected error.
   * @param {RegExp} [expected] errors that the test provokes, such as a refusal that the browser logs
   */
  async leave(expected) {
    await this.page.context().close();
    assert.deepEqual(this.errors.filter((one) => !expected?.test(one)), []);
  }

  /** Asserts that the page conforms to WCAG 2.2 AA and to axe's best practices. @param {string[]} [rules] none but these */
  async assertAccessible(rules) {
    // `preload` would download the page's stylesheets and media again, which fails offline. Only rules about media need it, and pages have none.
    const axe = new AxeBuilder({ page: this.page }).options({ preload: false });
    // Otherwise axe opens another page for each check, to combine the results of frames.
    assert.equal(this.page.frames().length, 1, 'the page has frames');
    axe.setLegacyMode(true);
    if (rules) axe.withRules(rules);
    else axe.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
    const look = async () => {
      // Colours count only while nothing fades: what was found while something moved is looked at again.
      await untilStill(this.page);
      const moves = await this.page.evaluateHandle(() => {
        const seen = { any: false };
        for (const type of ['transitionrun', 'animationstart']) document.addEventListener(type, () => (seen.any = true), { capture: true, once: true });
        return seen;
      });
      const { violations } = await axe.analyze();
      return { violations, hasMoved: await moves.evaluate(({ any }) => any) };
    };
    let { violations, hasMoved } = await look();
    for (let looks = 1; violations.length > 0 && hasMoved && looks < MOST_LOOKS; looks++) ({ violations, hasMoved } = await look());
    const messages = violations.map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes.slice(0, 2).map(({ html, failureSummary }) => `${html.slice(0, 300)} ${failureSummary?.slice(0, 300) ?? ''}`).join(' | ')}`);
    assert.deepEqual(messages, []);
  }
}

/** Waits until the elements have these texts. @param {import('playwright-core').Locator} found @param {readonly string[]} texts */
export async function assertShows(found, texts) {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end && !isDeepStrictEqual(await found.allTextContents(), texts)) await found.page().waitForTimeout(50);
  assert.deepEqual(await found.allTextContents(), texts);
}

/** Logs in on the shop's page. @param {import('playwright-core').Page} page @param {import('./people.mjs').Person} person */
export async function logIn(page, { username, password }) {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

/** Consents to what an application of others asks for. @param {import('playwright-core').Page} page */
export const allow = (page) => page.getByRole('button', { name: 'Allow', exact: true }).click();

/** Answers the question that precedes a sensitive change. @param {import('playwright-core').Page} page @param {import('./people.mjs').Person} person */
export async function givePassword(page, { password }) {
  const dialog = page.getByRole('dialog', { name: 'Your password, please' });
  // Who types at once types into it.
  await dialog.getByRole('textbox', { name: 'Password' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.type(password);
  await dialog.getByRole('button', { name: 'Continue' }).click();
}

/** The files of all pages come a while after the first page; the charts are the last of them. @param {import('playwright-core').Page} page */
export async function untilFilesOfAllPages(page) {
  const files = readdirSync(new URL('../../../apps/console/dist/site/assets/', import.meta.url)).filter((file) => /(-page|^charts)-[\w-]+\.js$/.test(file));
  await page.waitForFunction((wanted) => wanted.every((file) => performance.getEntriesByName(`${location.origin}/console/assets/${file}`).length > 0), files);
}
