// Migrations run while processes of the last release serve, and stay in place after a rollback.
import { SERVICES } from '../start/services.mjs';
import { digestOf, migrationsOf, readRelease } from './releases.mjs';

/** @returns {string[]} released migrations that were edited or removed */
export function edited() {
  return SERVICES.flatMap((service) => {
    const now = new Map(migrationsOf(service).map(({ file, sql }) => [file, digestOf(sql)]));
    return Object.entries(readRelease(service).migrations).flatMap(([file, digest]) => {
      const found = now.get(file);
      if (found === undefined) return [`${service}/${file} was removed`];
      return found === digest ? [] : [`${service}/${file} was edited`];
    });
  });
}

/** @returns {{ file: string, sql: string }[]} migrations since their services' last releases */
export function unreleased() {
  return SERVICES.flatMap((service) => {
    const { release, migrations } = readRelease(service);
    return release === '' ? [] : migrationsOf(service).filter(({ file }) => !(file in migrations)).map(({ file, sql }) => ({ file: `${service}/${file}`, sql }));
  });
}

/** Statements that may break processes of the previous release. */
const forbidden = /** @type {const} */ ([
  [/\bDROP\s+(?:TABLE|VIEW|SEQUENCE|FUNCTION|TYPE|DOMAIN|COLUMN)\b/i, 'drops what the previous release may use'],
  [/\bRENAME\b/i, 'renames what the previous release may use'],
  [/\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b/i, 'changes a type that the previous release uses, and rewrites the table under a lock'],
  [/\bSET\s+NOT\s+NULL\b/i, 'rejects rows that the previous release writes'],
  [/\bDROP\s+DEFAULT\b/i, 'drops a default that the previous release may rely on'],
  [/^TRUNCATE\b/i, 'deletes rows that the previous release may use'],
]);

/**
 * Checks that a migration is compatible with the previous release. It may add optional things (expand), and remove things one
 * release after their last use (contract). A comment `-- contract: <reason>` above a statement exempts it.
 * @param {string} sql @returns {string[]} incompatible statements with the reason
 */
export function faultsOf(sql) {
  const created = new Set([...sql.matchAll(/\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)/gi)].map(([, name]) => name));
  return statementsOf(sql).flatMap(({ text, isExplained }) => {
    if (isExplained) return [];
    const table = /\bALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?"?(\w+)/i.exec(text)?.[1];
    // The previous release does not use a table created here.
    if (table !== undefined && created.has(table)) return [];
    /** @type {string[]} */
    const faults = forbidden.filter(([pattern]) => pattern.test(text)).map(([, why]) => why);
    if (/\bALTER\s+TABLE\b/i.test(text)) {
      for (const [column = ''] of text.matchAll(/\bADD\s+COLUMN\s[^,;]*/gi)) {
        if (/\bNOT\s+NULL\b/i.test(column) && !/\b(?:DEFAULT|GENERATED)\b/i.test(column)) faults.push('adds a column that the previous release does not fill');
      }
      if (/\bADD\s+(?:CONSTRAINT\s+\w+\s+)?CHECK\b/i.test(text) && !/\bNOT\s+VALID\b/i.test(text)) faults.push('checks all rows under a lock: NOT VALID first');
    }
    const indexed = /\bCREATE\s+(?:UNIQUE\s+)?INDEX\b(?!\s+CONCURRENTLY).*?\bON\s+(?:ONLY\s+)?"?(\w+)/is.exec(text)?.[1];
    if (indexed !== undefined && !created.has(indexed)) faults.push('builds an index that blocks writes of the previous release');
    return faults.map((why) => `${why}: ${text.replaceAll(/\s+/g, ' ').slice(0, 100)}`);
  });
}

/** @param {string} sql @returns {{ text: string, isExplained: boolean }[]} */
function statementsOf(sql) {
  // Function bodies do not run during the migration.
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
