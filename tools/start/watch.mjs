import { existsSync, readFileSync } from 'node:fs';
import { StartError } from './errors.mjs';

/** Handles the exit of a process: while the shop starts, it ends the start; later, the process is restarted. */
export class Watch {
  isOpen = false;

  /** @param {AbortController} stop @param {import('./screen.mjs').Screen} screen */
  constructor(stop, screen) {
    this.stop = stop;
    this.screen = screen;
  }

  /**
   * @param {string} label
   * @param {() => string[]} lastLines the end of its output
   * @returns {import('./kept-process.mjs').Keeping['onEnd']}
   */
  over(label, lastLines) {
    return (how) => {
      if (this.stop.signal.aborted) return false;
      const reason = how.error ? how.error.message : (how.signal ?? `code ${how.code}`);
      if (this.isOpen) {
        this.screen.complain(`${label} exited (${reason}); restarting it`);
        return true;
      }
      this.stop.abort(new StartError(`${label} exited before it was ready (${reason}). Its last lines:\n${lastLines().join('\n')}`));
      return false;
    };
  }
}

/** @param {string} file @param {number} [count] */
export function lastLinesOf(file, count = 20) {
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count) : [];
}
