import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readRelease } from '../release/releases.mjs';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';

/** Folders that are installed, built or written by a run. */
const NOT_OURS = /^(node_modules|dist|generated|coverage|\.(?!github$).+)$/;
const sources = filesBelow('');
const pages = sources.filter((file) => file.endsWith('.md'));

/** Returns the files of the repository that people write, as paths from its root. @param {string} folder @returns {string[]} */
function filesBelow(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.test(entry.name) ? [] : filesBelow(path);
    return /\.(md|ts|mjs|js|sql|ya?ml|json|sh)$/.test(entry.name) ? [path] : [];
  });
}

/** @param {string} file */
const textOf = (file) => readFileSync(join(ROOT, file), 'utf8');

/** Returns the text without code blocks, whose lines look like headings and links. @param {string} text */
const proseOf = (text) => text.replaceAll(/^( *)```.*?^\1```/gms, '');

/** Returns the comments of TypeScript, JavaScript and SQL, without block comments whose lines have no asterisk. @param {string} text */
const commentsOf = (text) => [...text.matchAll(/(?:^|\s)(?:\/\/|--|\/?\*\*?) (.*)$/gm)].map(([, comment]) => comment).join('\n');

/** Returns the anchors that hosts of repositories derive from headings. @param {string} page */
const anchorsOf = (page) =>
  [...proseOf(textOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading.toLowerCase().replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-'));

/** @param {string} link path from the root, with or without an anchor */
function isThere(link) {
  const [path = '', anchor] = link.split('#');
  return existsSync(join(ROOT, path)) && (anchor === undefined || anchorsOf(path).includes(anchor));
}

test('links between documents lead to a file and a heading that exist', () => {
  const links = pages.flatMap((page) =>
    [...proseOf(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, to = '']) => to)
      .filter((to) => !/^[a-z]+:/.test(to))
      .map((to) => ({ page, to, path: to.startsWith('#') ? page + to : join(dirname(page), to) })),
  );
  assert.ok(links.length > 200, `only ${links.length} links`);
  assert.deepEqual(links.filter(({ path }) => !isThere(path)).map(({ page, to }) => `${page}: ${to}`), []);
});

test('documents that code and manifests cite exist', () => {
  const cited = sources.flatMap((file) => [...textOf(file).matchAll(/\bdocs\/[\w/-]+\.md(#[\w-]+)?/g)].map(([link]) => ({ file, link })));
  assert.ok(cited.length > 50, `only ${cited.length} citations`);
  const own = (/** @type {string} */ file) => /^tools\/(changed|documents)\//.test(file);
  assert.deepEqual(cited.filter(({ file, link }) => !own(file) && !isThere(link)).map(({ file, link }) => `${file}: ${link}`), []);
});

test('source files that documents name exist', () => {
  const named = pages.flatMap((page) =>
    [...proseOf(textOf(page)).matchAll(/`((?:(?:apps|libs|tests|tools|deploy|docs)\/|src\/|migrations\/)[\w./-]+\.(?:ts|mjs|sql|ya?ml|md|json|sh|conf))`/g)]
      .map(([, path = '']) => ({ page, path })),
  );
  assert.ok(named.length > 150, `only ${named.length} names`);
  const exists = (/** @type {{ page: string, path: string }} */ { page, path }) => existsSync(join(ROOT, path)) || existsSync(join(ROOT, dirname(page), path));
  assert.deepEqual(named.filter((one) => !exists(one)).map(({ page, path }) => `${page}: ${path}`), []);
});

test('source files that comments name exist', () => {
  // Released migrations are never edited: their comments name files as of their release.
  const frozen = SERVICES.flatMap((service) => Object.keys(readRelease(service).migrations).map((file) => `apps/${service}/migrations/${file}`));
  const pathInText = /(?<![\w./@:-])(?:apps|libs|tests|tools|deploy|docs|src|migrations|\.\.?)\/[\w./-]*\w\.(?:ts|mjs|sql|ya?ml|md|json|sh|conf)\b/g;
  const commented = sources.filter((file) => /\.(ts|mjs|sql)$/.test(file) && !frozen.includes(file));
  const named = commented.flatMap((file) => [...commentsOf(textOf(file)).matchAll(pathInText)].map(([path]) => ({ file, path })));
  assert.ok(named.length > 200, `only ${named.length} names`);
  const exists = (/** @type {{ file: string, path: string }} */ { file, path }) =>
    ['', dirname(file), file.split('/').slice(0, 2).join('/')].some((base) => existsSync(join(ROOT, base, path)));
  assert.deepEqual(named.filter((one) => !exists(one)).map(({ file, path }) => `${file}: ${path}`), []);
});

test('every decision record has the same sections', () => {
  const records = pages.filter((page) => page.startsWith('docs/decisions/') && !page.endsWith('README.md'));
  const index = textOf('docs/decisions/README.md');
  for (const record of records) {
    const headings = [...proseOf(textOf(record)).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, ['Status', 'Context', 'Decision', 'Consequences', 'Alternatives considered'], record);
    assert.match(textOf(record), /^## Status\n\S.*\d{4}-\d{2}-\d{2}/m, record);
    assert.ok(index.includes(`(${record.slice('docs/decisions/'.length)})`), `docs/decisions/README.md does not list ${record}`);
  }
});

test('issue templates have a name and a description', () => {
  const templates = pages.filter((page) => page.startsWith('.github/ISSUE_TEMPLATE/'));
  assert.ok(templates.length > 0);
  for (const template of templates) assert.match(textOf(template), /^---\nname: [^:\n]+\nabout: [^:\n]+\n---\n/, template);
});
