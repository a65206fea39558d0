import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { attempt, run } from '../../tools/start/command.mjs';
import { cacheFolder } from '../../tools/start/system-user.mjs';

/** @typedef {{ command: string, env: NodeJS.ProcessEnv }} Program */

/**
 * Returns the installed program, or Debian's, unpacked into the cache.
 * @param {string} name @param {string[]} packages the program's, and its dependencies that few machines have @returns {Promise<Program | undefined>}
 */
export async function findProgram(name, packages) {
  const installed = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (installed) return { command: installed, env: process.env };
  const home = join(cacheFolder(undefined), name);
  if (!existsSync(home) && !(await fetch(home, packages))) return undefined;
  const libraries = join(home, 'usr', 'lib');
  const folders = readdirSync(libraries).map((machine) => join(libraries, machine));
  const scripts = join(home, 'usr', 'share', 'luajit-2.1.0-beta3', '?.lua');
  return { command: join(home, 'usr', 'bin', name), env: { ...process.env, LD_LIBRARY_PATH: folders.join(':'), LUA_PATH: `${scripts};;` } };
}

/** @param {string} home @param {string[]} packages */
async function fetch(home, packages) {
  if (!existsSync('/usr/bin/apt-get')) return false;
  const work = `${home}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    if ((await attempt('apt-get', ['-q', '-o', 'APT::Sandbox::User=root', 'download', ...packages], { cwd: work })).code !== 0) return false;
    for (const archive of readdirSync(work).filter((file) => file.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', archive, '.'], { what: `Unpacking ${archive}`, cwd: work });
      rmSync(join(work, archive));
    }
    renameSync(work, home);
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
