import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { attempt, run } from './command.mjs';
import { cacheFolder } from './system-user.mjs';

/**
 * Fetches a package of Debian or Ubuntu as any user may, and takes one file out of it; nothing is installed.
 * @param {{ name: string, binary: string }} wanted the package, and the name of the program or library in it
 * @param {string} target where the file goes
 * @param {{ signal: AbortSignal, say: (message: string) => void }} options
 * @returns {Promise<boolean>} whether it is there; it cannot be had on other systems or without a network
 */
export async function fetchBinary({ name, binary }, target, { signal, say }) {
  if (!existsSync('/usr/bin/apt-get')) return false;
  say(`No ${binary} found: fetching the package ${name}`);
  const cache = cacheFolder(undefined);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, `${name}-`));
  // As root, apt would fetch as a user of its own who cannot write here.
  const asMe = ['-q', '-o', 'APT::Sandbox::User=root'];
  const ownLists = ['-o', `Dir::State::lists=${join(work, 'lists')}`, '-o', `Dir::Cache=${join(work, 'cache')}`];
  try {
    const apt = (/** @type {string[]} */ ...args) => attempt('apt-get', [...asMe, ...args], { cwd: work, signal });
    const fetch = async () => {
      if ((await apt('download', name)).code === 0) return true;
      // The machine's package lists are missing or too old: ours, for this once.
      mkdirSync(join(work, 'lists', 'partial'), { recursive: true });
      mkdirSync(join(work, 'cache', 'archives', 'partial'), { recursive: true });
      await apt(...ownLists, 'update');
      return (await apt(...ownLists, 'download', name)).code === 0;
    };
    if (!(await fetch())) return false;
    const archive = readdirSync(work).find((file) => file.endsWith('.deb')) ?? '';
    await run('dpkg-deb', ['-x', archive, 'unpacked'], { what: `Unpacking ${name}`, cwd: work, signal });
    const unpacked = join(work, 'unpacked');
    const found = readdirSync(unpacked, { recursive: true, encoding: 'utf8' }).find((path) => isProgramOrLibrary(path, binary));
    if (!found) return false;
    renameSync(join(unpacked, found), target);
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {string} path within the package @param {string} name */
const isProgramOrLibrary = (path, name) => /^usr\/(bin|sbin|lib)\//.test(path) && basename(path) === name;
