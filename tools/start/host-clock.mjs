import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fetchBinary } from './debian-package.mjs';
import { cacheFolder } from './system-user.mjs';

const LIBRARY = 'libfaketimeMT.so.1';

/**
 * The wall clock of one process and its child processes, for tests and experiments; the monotonic clock stays real. It can be set before the process
 * starts and while it runs.
 */
export class HostClock {
  #library;
  #file;

  /** @param {string} library of libfaketime @param {string} file to hold the offset */
  constructor(library, file) {
    this.#library = library;
    this.#file = file;
    this.set(0);
  }

  /**
   * Finds libfaketime: in the cache, else Debian's package unpacked into it (nothing is installed).
   * @param {string} file to hold the offset; one for each process. The library is copied beside it, where another user's process finds it
   * @param {{ signal: AbortSignal, say: (message: string) => void }} options
   * @returns {Promise<HostClock | undefined>} undefined on other systems and without a network
   */
  static async at(file, options) {
    const library = join(cacheFolder(undefined), LIBRARY);
    const isThere = existsSync(library) || (await fetchBinary({ name: 'libfaketime', binary: LIBRARY }, library, options));
    if (!isThere) return undefined;
    const copy = join(dirname(file), LIBRARY);
    if (!existsSync(copy)) copyFileSync(library, copy);
    return new HostClock(copy, file);
  }

  /** The process's environment variables. */
  get environment() {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      // Caches the file for a second or two; otherwise each reading of the clock would read it.
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
    };
  }

  /** Sets the offset, which takes effect within two seconds. @param {number} aheadMs negative: behind */
  set(aheadMs) {
    const draft = `${this.#file}.new`;
    writeFileSync(draft, `${aheadMs < 0 ? '-' : '+'}${(Math.abs(aheadMs) / 1000).toFixed(3)}\n`);
    // The process may read the file at any time.
    renameSync(draft, this.#file);
  }
}
