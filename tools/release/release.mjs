// What the release before had: the sample messages of its services and its migrations. Today's code is held against both, since
// services are deployed alone: for a while each talks to the release before, and migrations run beside its processes.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASES } from '../start/credentials.mjs';
import { ROOT } from '../start/toolchain.mjs';

const samples = join(ROOT, 'libs/contracts/samples');
const previous = join(samples, 'previous');
const releaseFile = join(previous, 'RELEASE');

/**
 * @typedef {object} Migration
 * @property {string} file `<service>/<name>.sql`
 * @property {string} sql
 */

/** @returns {Migration[]} of all services, as they are now */
export const migrations = () =>
  DATABASES.flatMap((service) => {
    const folder = join(ROOT, 'apps', service, 'migrations');
    const files = readdirSync(folder).filter((name) => name.endsWith('.sql')).sort();
    return files.map((name) => ({ file: `${service}/${name}`, sql: readFileSync(join(folder, name), 'utf8') }));
  });

/** @param {string} sql */
const digestOf = (sql) => createHash('sha256').update(sql).digest('hex');

/** @returns {{ name: string, digests: ReadonlyMap<string, string> }} what was released last, with the digest of each migration by its file */
export function readRelease() {
  const [name = '', ...lines] = readFileSync(releaseFile, 'utf8').trimEnd().split('\n');
  return { name, digests: new Map(lines.map((line) => /** @type {[string, string]} */ (line.split(' ')))) };
}

/** Keeps what is there now as the release before. @param {string} name version or commit */
export function freeze(name) {
  rmSync(previous, { recursive: true, force: true });
  mkdirSync(previous);
  for (const file of readdirSync(join(samples, '1')).filter((one) => one.endsWith('.json'))) cpSync(join(samples, '1', file), join(previous, file));
  const lines = migrations().map(({ file, sql }) => `${file} ${digestOf(sql)}`);
  writeFileSync(releaseFile, `${[name, ...lines].join('\n')}\n`);
}

/** @returns {string[]} what was done to migrations that are released, which are never edited */
export function edited() {
  const { digests } = readRelease();
  const now = new Map(migrations().map(({ file, sql }) => [file, digestOf(sql)]));
  return [...digests].flatMap(([file, digest]) => {
    const found = now.get(file);
    if (found === undefined) return [`${file} is gone`];
    return found === digest ? [] : [`${file} was edited`];
  });
}

/** @returns {Migration[]} those that run while the release before serves */
export function unreleased() {
  const { digests } = readRelease();
  return migrations().filter(({ file }) => !digests.has(file));
}

/** What processes of the release before may not survive. */
const forbidden = /** @type {const} */ ([
  [/\bDROP\s+(?:TABLE|VIEW|SEQUENCE|FUNCTION|TYPE|DOMAIN|COLUMN)\b/i, 'takes away what the release before may use'],
  [/\bRENAME\b/i, 'renames what the release before may use'],
  [/\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b/i, 'changes a type under the release before, and rewrites the table under a lock'],
  [/\bSET\s+NOT\s+NULL\b/i, 'refuses rows that the release before writes'],
  [/\bDROP\s+DEFAULT\b/i, 'takes a default away that the release before may rely on'],
  [/^TRUNCATE\b/i, 'takes rows away that the release before may use'],
]);

/**
 * Whether a migration leaves room for the release before: it adds what may be absent (expand); what is to go goes a release after
 * the last one that used it (contract). A statement under a comment that begins with `-- contract: ` says why nobody who still
 * runs minds it.
 * @param {string} sql @returns {string[]} what is wrong with it
 */
export function faultsOf(sql) {
  const created = new Set([...sql.matchAll(/\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)/gi)].map(([, name]) => name));
  return statementsOf(sql).flatMap(({ text, isExplained }) => {
    if (isExplained) return [];
    const table = /\bALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?"?(\w+)/i.exec(text)?.[1];
    // Nobody knows it yet.
    if (table !== undefined && created.has(table)) return [];
    const faults = forbidden.filter(([pattern]) => pattern.test(text)).map(([, why]) => why);
    if (/\bALTER\s+TABLE\b/i.test(text)) {
      for (const [column = ''] of text.matchAll(/\bADD\s+COLUMN\s[^,;]*/gi)) {
        if (/\bNOT\s+NULL\b/i.test(column) && !/\b(?:DEFAULT|GENERATED)\b/i.test(column)) faults.push('adds a column that the release before does not fill');
      }
      if (/\bADD\s+(?:CONSTRAINT\s+\w+\s+)?CHECK\b/i.test(text) && !/\bNOT\s+VALID\b/i.test(text)) faults.push('checks all rows under a lock: NOT VALID first');
    }
    const indexed = /\bCREATE\s+(?:UNIQUE\s+)?INDEX\b(?!\s+CONCURRENTLY).*?\bON\s+(?:ONLY\s+)?"?(\w+)/is.exec(text)?.[1];
    if (indexed !== undefined && !created.has(indexed)) faults.push('builds an index while writes of the release before wait');
    return faults.map((why) => `${why}: ${text.replaceAll(/\s+/g, ' ').slice(0, 100)}`);
  });
}

/** @param {string} sql @returns {{ text: string, isExplained: boolean }[]} */
function statementsOf(sql) {
  // Bodies of functions run later, and are none of this.
  const plain = sql.replaceAll(/\$(\w*)\$.*?\$\1\$/gs, "''");
  /** @type {{ text: string, isExplained: boolean }[]} */
  const statements = [];
  let [text, isExplained] = ['', false];
  for (const line of plain.split('\n')) {
    if (/^\s*-- contract: \S/.test(line)) isExplained = true;
    const code = line.replace(/--.*/, '');
    text += `${code}\n`;
    if (!code.trimEnd().endsWith(';')) continue;
    statements.push({ text: text.trim(), isExplained });
    [text, isExplained] = ['', false];
  }
  if (text.trim() !== '') statements.push({ text: text.trim(), isExplained });
  return statements;
}
