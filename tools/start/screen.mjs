import { isProblem, readable } from './log.mjs';
import { sleep } from './processes.mjs';

/** Beyond this many unread bytes (a stopped terminal, a slow pipe) lines are left out: services must never wait for a reader. */
const MOST_UNREAD = 1_000_000;

/** Everything the launcher shows, on standard output. */
export class Screen {
  #leftOut = 0;

  /** Whether services' lines below a warning are left out. */
  quiet = false;

  constructor() {
    this.colours = process.stdout.isTTY === true && !process.env['NO_COLOR'];
    // `npm start | head` closes the pipe: the shop goes on, unseen.
    process.stdout.on('error', () => {});
  }

  /** @param {string} message of the launcher itself */
  say(message) {
    process.stdout.write(`${message}\n`);
  }

  /** Something that must not be overlooked. @param {string} message */
  complain(message) {
    this.say(this.colours ? `\u001b[31m${message}\u001b[0m` : message);
  }

  /** Waits until all was written, but not for a reader who has gone. */
  async flush() {
    await Promise.race([new Promise((resolve) => process.stdout.write('', resolve)), sleep(1_000)]);
  }

  /** @param {string} label @param {string} line of a service */
  line(label, line) {
    const { level, text } = readable(label, line, this.colours);
    if (this.quiet && !isProblem(level)) return;
    if (process.stdout.writableLength > MOST_UNREAD) {
      this.#leftOut += 1;
      return;
    }
    if (this.#leftOut > 0) this.say(`(${this.#leftOut} lines left out here; the log files have them)`);
    this.#leftOut = 0;
    this.say(text);
  }
}
