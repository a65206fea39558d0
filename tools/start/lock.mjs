import { linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { markOf, sleep, stillRuns } from './processes.mjs';
import { writePrivately } from './files.mjs';

/** Thrown when a running process holds the lock. */
export class Held extends Error {
  /** @param {number} pid */
  constructor(pid) {
    super(`held by process ${pid}`);
    this.pid = pid;
  }
}

/**
 * Acquires a lock file, also from a holder that has died. Node has no `flock`, so the file names its holder; creating it and
 * taking it over are atomic calls.
 * @param {string} path
 * @returns {() => void} releases it
 */
export function takeLock(path) {
  const mine = `${path}.${process.pid}`;
  const text = JSON.stringify(markOf(process.pid));
  writePrivately(mine, text);
  try {
    for (;;) {
      try {
        linkSync(mine, path);
        return () => {
          if (read(path) === text) rmSync(path, { force: true });
        };
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      }
      const found = read(path);
      const holder = parse(found);
      if (stillRuns(holder)) throw new Held(holder.pid);
      takeAway(path, found);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * Like `takeLock`, but waits for a running holder.
 * @param {string} path
 * @param {{ signal: AbortSignal, onWait: (pid: number) => void }} options
 */
export async function awaitLock(path, { signal, onWait }) {
  for (let isReported = false; ; isReported = true) {
    try {
      return takeLock(path);
    } catch (error) {
      if (!(error instanceof Held)) throw error;
      if (!isReported) onWait(error.pid);
    }
    await sleep(200);
    signal.throwIfAborted();
  }
}

/** @param {string} path @param {string | undefined} stale */
function takeAway(path, stale) {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
    // Another process took over the stale lock in between: restore its file.
    if (read(aside) !== stale) linkSync(aside, path);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** @param {string | undefined} text @returns {import('./processes.mjs').Mark | undefined} */
function parse(text) {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
