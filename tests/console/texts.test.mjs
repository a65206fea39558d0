import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fieldSentence, notAccepted } from '../../apps/console/dist/ui/field-sentences.js';
import { sentences } from '../../apps/console/dist/ui/problem-sentences.js';
import { audited } from '../../apps/console/dist/pages/people/audited.js';
import { catalog } from '../../libs/contracts/dist/catalog.js';
import { identity } from '../../libs/contracts/dist/identity.js';
import { problemTable } from '../../libs/contracts/dist/problem-table.js';
import { store } from '../../libs/contracts/dist/store.js';
import { Chrome } from './kit/console.mjs';
import { admin, demoAdmin, newPlant } from './kit/people.mjs';

/** Names of permissions, operations and problem codes: words for programs. */
const FOR_PROGRAMS = /\b(?:read|write|manage):[a-z]+\b|\b(?:catalog|identity|store|notifications)\.[a-z]+[A-Z]\w*|\b(?:authorization_code|client_credentials|insufficient-stock|order-transition-refused)\b/;

test('each code of a problem has a sentence for people', () => {
  assert.deepEqual(Object.keys(sentences).sort(), Object.keys(problemTable).sort());
  for (const [code, said] of Object.entries(sentences)) for (const text of [said].flat()) assert.match(text, /^[A-Z][^_]+\.$/, code);
});

test('each fault of a value that the shop may tell has a sentence for people', () => {
  const folders = ['libs/contracts/src/', 'libs/platform/src/rpc/', 'libs/platform/src/http/', ...['catalog', 'gateway', 'identity', 'notifications', 'store'].map((service) => `apps/${service}/src/`)];
  const files = folders.flatMap((name) => {
    const folder = new URL(`../../${name}`, import.meta.url);
    // The shop's own pages show theirs themselves.
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !/spec\.|account-|recovery|interactions/.test(file)).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  });
  const literal = /(['"`])((?:must|is already|is that of|is too|is required|is not a member|has a member)\b(?:(?!\1)[^\\\n]|\\.)*)\1/g;
  const details = [...new Set(files.flatMap((source) => [...source.matchAll(literal)].map(([, , text = '']) => text.replaceAll(/\$\{[^}]*\}/g, '7'))))];
  assert.ok(details.length > 60 && details.includes('must be a whole number from 7 to 7') && details.includes('must not use an internal name'), 'the sources are read');
  assert.deepEqual(details.filter((detail) => fieldSentence(detail) === notAccepted), []);
  for (const detail of details) assert.match(fieldSentence(detail), /^[A-Z][^_]+\.$/, detail);
  assert.equal(fieldSentence('limit must be a whole number from 1 to 1000'), 'Write a whole number in digits, from 1 to 1,000.');
  assert.equal(fieldSentence('of a newer shop'), notAccepted);
});

test('each operation that the audit log may have is told in words', () => {
  const writes = Object.values({ ...catalog, ...identity, ...store }).filter((one) => one.effect === 'write' && 'client' in one);
  const sources = ['catalog', 'identity', 'store'].flatMap((service) => {
    const folder = new URL(`../../apps/${service}/src/`, import.meta.url);
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts') && !name.endsWith('spec.ts')).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  });
  const found = (/** @type {RegExp} */ pattern) => sources.flatMap((source) => [...source.matchAll(pattern)].flatMap(([, operation]) => operation ?? []));
  const named = [...found(/\baudit(?:All|UnlessSelf)?\(tx, [^;]*?[ (]((?:catalog|identity|store)\.\w+)/g), ...found(/\{ pattern: '([\w.-]+)' \}/g)];
  assert.ok(named.includes('store.setStock') && named.includes('identity.rotate-signing-key'), 'the sources are read');
  const missing = [...writes.map(({ pattern }) => pattern), ...named].filter((operation) => !(operation in audited));
  assert.deepEqual([...new Set(missing)], []);
});

describe('the pages', () => {
  const chrome = new Chrome();
  before(() => chrome.open());
  after(() => chrome.close());

  test('have no words for programs', async () => {
    const plantId = await newPlant();
    const { data: order } = await admin.POST('/store/order', { body: { plantId } });
    const visit = await chrome.visit(demoAdmin, { path: '/' });
    const { page } = visit;
    for (const path of ['/', '/orders', `/orders/${order.id}`, '/plants', `/plants/${plantId}`, '/webhooks', '/destinations', '/people', '/people?tab=clients', '/people?tab=audit', `/people/${demoAdmin.username}`]) {
      await page.goto(new URL(`/console${path}`, page.url()).href);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForFunction(() => !document.querySelector('.mantine-Loader-root, .mantine-Skeleton-root'));
      const found = FOR_PROGRAMS.exec(await page.locator('body').innerText());
      assert.equal(found?.[0], undefined, path);
    }
    // Of plants in the audit log that another test has deleted.
    await visit.leave(/404.*\/v3\/plant\/\d+\)/);
  });
});
