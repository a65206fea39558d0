import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { textOf } from './services.mjs';

/**
 * Reads an ignore file as an engine does (moby/patternmatcher, as BuildKit calls it): a path is ignored if the last pattern that matches it or
 * a folder above it has no `!`.
 * @param {string} text
 * @returns {(path: string) => boolean} whether a file or folder is ignored
 */
export function ignoredBy(text) {
  const lines = text.replace(/^\uFEFF/, '').split('\n').filter((line) => !line.startsWith('#') && line.trim() !== '');
  const patterns = lines.map((line) => {
    const [, not, pattern = ''] = /^(!?)\s*(.*)$/.exec(line.trim()) ?? [];
    return { isException: not === '!', expression: expressionOf(posix.normalize(pattern).replace(/(?<=.)\/$/, '').replace(/^\/(?=.)/, '')) };
  });
  /** @type {(path: string) => { isIgnored: boolean, matched: boolean[] }} */
  const decide = (path) => {
    const above = path.includes('/') ? decide(posix.dirname(path)).matched : [];
    let isIgnored = false;
    const matched = patterns.map(({ isException, expression }, index) => {
      // A pattern that cannot change the decision is not tried. It then counts as not matching for all that is in this folder, too.
      const isMatch = above[index] === true || (isException === isIgnored && expression.test(path));
      if (isMatch) isIgnored = !isException;
      return isMatch;
    });
    return { isIgnored, matched };
  };
  return (path) => decide(path).isIgnored;
}

/** @param {string} pattern */
function expressionOf(pattern) {
  const expression = pattern.replace(/\*\*\/?$|\*\*\/?|\\.|[*?.+(){}|$]/g, (token, /** @type {number} */ at) => {
    if (token.startsWith('**')) return at + token.length === pattern.length ? '.*' : '(.*/)?';
    return { '*': '[^/]*', '?': '[^/]' }[token] ?? (token.startsWith('\\') ? token : `\\${token}`);
  });
  return new RegExp(`^${expression}$`);
}

/** Returns files of the checkout. @param {...string} which options of `git ls-files` */
export const gitFiles = (...which) =>
  execFileSync('git', ['ls-files', '-z', '--exclude-standard', ...which], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)));

/** Returns the files that an engine gets for a build. Those that git ignores are not looked at, since none is among them. */
export function contextFiles() {
  const isIgnored = ignoredBy(textOf('.dockerignore'));
  return gitFiles('--cached', '--others').filter((file) => !isIgnored(file));
}
