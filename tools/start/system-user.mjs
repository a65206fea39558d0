import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { StartError } from './errors.mjs';

/** @typedef {{ uid: number, gid: number }} SystemUser */

/**
 * The user that Postgres runs as if the launcher is root, since it refuses to run as root; undefined for other users.
 * @returns {SystemUser | undefined}
 */
export function postgresUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: idOf('-u', name), gid: idOf('-g', name) };
    } catch {
      // Not on this system.
    }
  }
  throw new StartError('Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as: start as an ordinary user.');
}

/**
 * Whether `user` can enter this folder. Root's home, where a checkout may be, is closed to other users.
 * @param {string} folder if it does not exist, its nearest existing parent counts
 * @param {SystemUser | undefined} user
 */
export function canReach(folder, user) {
  if (user === undefined) return true;
  for (let path = resolve(folder); ; path = dirname(path)) {
    if (existsSync(path)) {
      const { mode, uid, gid } = statSync(path);
      const enter = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
      if ((mode & enter) === 0) return false;
    }
    if (path === dirname(path)) return true;
  }
}

/** Returns the folder of downloaded servers, which all checkouts share. @param {SystemUser | undefined} user who must be able to run them */
export function cacheFolder(user) {
  const own = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'plant-shop');
  return canReach(own, user) ? own : '/var/cache/plant-shop';
}

/** @param {string} what @param {string} name */
function idOf(what, name) {
  return Number(execFileSync('id', [what, name], { encoding: 'utf8', stdio: 'pipe' }));
}
