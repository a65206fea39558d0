import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { isProblem, isSurelyNoProblem, readable } from './log.mjs';
import { sleep } from './processes.mjs';

/** Beyond this many unread bytes, lines are dropped: services must never wait for a reader. */
const MOST_UNREAD = 1_000_000;

/** The launcher's standard output. */
export class Screen {
  #out = standardOutput();
  #leftOut = 0;

  /** Whether services' lines below a warning are hidden. */
  quiet = false;

  constructor() {
    this.colours = process.stdout.isTTY === true && !process.env['NO_COLOR'];
    // `npm start | head` closes the pipe; the shop continues without output.
    this.#out.on('error', () => {});
  }

  /** @param {string} message of the launcher itself */
  say(message) {
    this.#out.write(`${message}\n`);
  }

  /** Prints a problem, in red if colours are on. @param {string} message */
  complain(message) {
    this.say(this.colours ? `\u001b[31m${message}\u001b[0m` : message);
  }

  /** Waits until everything is written, unless the reader has gone. */
  async flush() {
    await Promise.race([new Promise((resolve) => this.#out.write('', resolve)), sleep(1_000)]);
  }

  /** @param {string} label @param {string[]} lines of a service */
  log(label, lines) {
    const wanted = this.quiet ? lines.filter((line) => !isSurelyNoProblem(line)) : lines;
    if (this.#out.writableLength > MOST_UNREAD) {
      this.#leftOut += wanted.length;
      return;
    }
    const shown = wanted.map((line) => readable(label, line, this.colours)).filter(({ level }) => !this.quiet || isProblem(level));
    if (shown.length === 0) return;
    if (this.#leftOut > 0) this.say(`(${this.#leftOut} lines omitted; the log files contain them)`);
    this.#leftOut = 0;
    this.say(shown.map(({ text }) => text).join('\n'));
  }
}

/**
 * Opens a pipe as a socket. Node writes to pipes synchronously, so a reader that stops reading (such as a script that waits
 * only for the banner) would block the launcher and, once their pipes are full, all services.
 */
function standardOutput() {
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket() ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}
