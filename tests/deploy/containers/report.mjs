import { explain } from '../../../tools/start/errors.mjs';

/** Prints a line per check with its duration, and a count at the end. */
export class Report {
  held = 0;
  failed = 0;

  /** @param {string} text */
  note(text) {
    console.log(`${new Date().toISOString().slice(11, 19)}        ${text}`);
  }

  /**
   * Runs one check. A failure does not prevent the next.
   * @template T
   * @param {string} what the guarantee
   * @param {() => Promise<T>} run throws if it does not hold; a returned text is printed
   * @returns {Promise<T | undefined>} undefined if it does not hold
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
    return `${this.held} of ${this.held + this.failed} checks passed`;
  }
}

/** @param {number} begun of performance.now() */
export const seconds = (begun) => ((performance.now() - begun) / 1_000).toFixed(1);
