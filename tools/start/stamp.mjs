import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Folders without sources. */
const SKIPPED = new Set(['node_modules', 'dist', 'coverage']);

/** @param {string} root @returns {string[]} the folders of all workspace packages */
export function packageFolders(root) {
  return ['apps', 'libs', 'tests', 'examples']
    .map((parent) => join(root, parent))
    .filter((parent) => existsSync(parent))
    .flatMap((parent) => readdirSync(parent).map((name) => join(parent, name)))
    .filter((folder) => existsSync(join(folder, 'package.json')));
}

/** @param {string} folder @param {RegExp} name @returns {string[]} files in it and below whose name matches */
export function filesBelow(folder, name) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path, name);
    return name.test(entry.name) ? [path] : [];
  });
}

/**
 * A stamp of the files' contents, for few files whose modification times are meaningless.
 * @param {string[]} files @param {string[]} [salt]
 */
export function contentStamp(files, salt = []) {
  const hash = createHash('sha256').update(salt.join('\n'));
  for (const file of [...files].sort()) hash.update(`\n${file}\n`).update(existsSync(file) ? readFileSync(file) : '');
  return hash.digest('hex');
}

/** Changes when a file is written, added or removed: for many files, of which only the directory entry is read. @param {string[]} files */
export function changeStamp(files) {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}
