import { existsSync, readFileSync } from 'node:fs';
import { StartError } from './errors.mjs';

/** Handles the end of a process: while the shop starts, the start has failed; later, the process is restarted. */
export class Watch {
  isOpen = false;

  /** @param {AbortController} stop @param {import('./screen.mjs').Screen} screen */
  constructor(stop, screen) {
    this.stop = stop;
    this.screen = screen;
  }

  /**
   * @param {string} label
   * @param {() => string[]} lastLines what it said last
   * @returns {import('./kept-process.mjs').Keeping['onEnd']}
   */
  over(label, lastLines) {
    return (how) => {
      if (this.stop.signal.aborted) return false;
      const fate = how.error ? how.error.message : how.signal ? `killed by ${how.signal}` : `exit code ${how.code}`;
      if (this.isOpen) {
        this.screen.complain(`!!! ${label} has ended (${fate}); starting it again`);
        return true;
      }
      this.stop.abort(new StartError(`${label} ended before it was ready (${fate}). Its last lines:\n${lastLines().join('\n')}`));
      return false;
    };
  }
}

/** @param {string} file @param {number} [count] */
export function lastLinesOf(file, count = 20) {
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count) : [];
}
