import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { address } from './people.mjs';

/** What a condition may take on a machine that does much else. Tests wait for conditions, never for a time. */
export const PATIENCE_MS = 30_000;

/** Tests run as root on some machines, which its sandbox refuses; the rest keeps it from calling home. */
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** One browser for a file of tests. Everybody in it has a profile of their own. */
export class Chrome {
  /** @type {import('playwright-core').Browser | undefined} */
  #browser;
  /** Log-ins that are there already, by name. @type {Map<string, Awaited<ReturnType<import('playwright-core').BrowserContext['storageState']>>>} */
  #known = new Map();
  /** @type {import('playwright-core').BrowserContext[]} */
  #contexts = [];

  async open() {
    const binary = process.env['CHROMIUM_BINARY'];
    if (!binary) throw new Error('CHROMIUM_BINARY names no browser: run this by "npm test -- --only console".');
    this.#browser = await chromium.launch({ executablePath: binary, args });
  }

  async close() {
    await this.#browser?.close();
  }

  /**
   * A page of the console with somebody logged in.
   * @param {import('./people.mjs').Person} person
   * @param {object} [options]
   * @param {string} [options.path] within the console, such as `/orders`
   * @param {'light' | 'dark'} [options.scheme]
   * @param {{ width: number, height: number }} [options.viewport]
   * @returns {Promise<Visit>}
   */
  async visit(person, { path = '/', scheme = 'light', viewport = { width: 1280, height: 860 } } = {}) {
    const known = this.#known.get(person.username);
    const visit = await this.stranger({ scheme, viewport, ...(known && { storageState: known }) });
    await visit.page.goto(`${address}/console${path}`);
    if (!known) {
      await logIn(visit.page, person);
      this.#known.set(person.username, await visit.page.context().storageState());
    }
    await visit.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return visit;
  }

  /** A page with nobody logged in, nothing loaded. @param {{ scheme?: 'light' | 'dark', viewport?: { width: number, height: number }, storageState?: any }} [options] */
  async stranger({ scheme = 'light', ...options } = {}) {
    if (!this.#browser) throw new Error('The browser is not open.');
    const context = await this.#browser.newContext({ colorScheme: scheme, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    this.#contexts.push(context);
    return new Visit(await context.newPage());
  }
}

/** One page, and what its console said. */
export class Visit {
  /** @type {string[]} */
  errors = [];

  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    page.on('console', (message) => {
      // On a machine that does too much a service may not be ready for a moment. The page asks about it, and browsers log the answer.
      if (message.location().url.endsWith('/readyz')) return;
      if (message.type() === 'error' || message.type() === 'warning') this.errors.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => this.errors.push(`${error}`));
  }

  /**
   * Ends the visit. Its console must have been silent.
   * @param {RegExp} [expected] what the test itself brought about, such as a refusal that the browser logs
   */
  async leave(expected) {
    await this.page.context().close();
    assert.deepEqual(this.errors.filter((one) => !expected?.test(one)), []);
  }

  /** Nothing is wrong with the page for people who use it by keyboard, screen reader or with weak eyes (WCAG 2.2 AA). */
  async assertAccessible() {
    // Colours are those of the end of a transition.
    await this.page.waitForFunction(() => document.getAnimations().every((one) => one.playState !== 'running'));
    const { violations } = await new AxeBuilder({ page: this.page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).analyze();
    const told = violations.map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes.slice(0, 2).map(({ html, failureSummary }) => `${html.slice(0, 300)} ${failureSummary?.slice(0, 300) ?? ''}`).join(' | ')}`);
    assert.deepEqual(told, []);
  }
}

/** Waits until these are the texts of what is found. @param {import('playwright-core').Locator} found @param {readonly string[]} texts */
export async function assertShows(found, texts) {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end && !isDeepStrictEqual(await found.allTextContents(), texts)) await found.page().waitForTimeout(50);
  assert.deepEqual(await found.allTextContents(), texts);
}

/** On the shop's own pages. @param {import('playwright-core').Page} page @param {import('./people.mjs').Person} person */
export async function logIn(page, { username, password }) {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
}
