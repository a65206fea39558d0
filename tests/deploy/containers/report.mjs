import { explain } from '../../../tools/start/errors.mjs';

/** One line for each check as it ends, with the time it took, and a count at the end. */
export class Report {
  held = 0;
  failed = 0;

  /** @param {string} text */
  note(text) {
    console.log(`${new Date().toISOString().slice(11, 19)}        ${text}`);
  }

  /**
   * Runs one check. A failure does not keep the next from running.
   * @template T
   * @param {string} what is promised
   * @param {() => Promise<T>} run throws when it does not hold; a text that it returns is printed
   * @returns {Promise<T | undefined>} nothing when it does not hold
   */
  async check(what, run) {
    const begun = performance.now();
    try {
      const said = await run();
      this.held += 1;
      const detail = typeof said === 'string' ? `: ${said}` : '';
      console.log(`${new Date().toISOString().slice(11, 19)}  ok    ${what}${detail} (${seconds(begun)} s)`);
      return said;
    } catch (error) {
      this.failed += 1;
      console.log(`${new Date().toISOString().slice(11, 19)}  FAIL  ${what} (${seconds(begun)} s): ${explain(error)}`);
      return undefined;
    }
  }

  summary() {
    return `${this.held} of ${this.held + this.failed} checks hold`;
  }
}

/** @param {number} begun of performance.now() */
export const seconds = (begun) => ((performance.now() - begun) / 1_000).toFixed(1);
