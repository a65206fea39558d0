import { markOf, sendSignal } from './processes.mjs';

/**
 * @typedef {object} Keeping
 * @property {string} name
 * @property {() => import('node:child_process').ChildProcess} launch must start it detached, in its own process group
 * @property {import('./processes.mjs').StopStep[]} stopSteps
 * @property {(how: { code: number | null, signal: string | null, error?: Error }) => boolean} onEnd
 *   called on an unexpected end; returns whether to restart it
 * @property {(() => void) | undefined} [onChange] called after each start and each unexpected end, when `mark` is up to date
 */

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A process that ran this long counts as healthy: after its next end, the pauses start short again. */
const HEALTHY_AFTER_MS = 10_000;

/** A process that is restarted when it ends, until it is stopped. */
export class KeptProcess {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {NodeJS.Timeout | undefined} */
  #restart;
  #stopping = false;
  #pauseMs = FIRST_PAUSE_MS;

  /** Identifies the running process; undefined while none runs. @type {import('./processes.mjs').Mark | undefined} */
  mark;

  /** @param {Keeping} keeping */
  constructor(keeping) {
    this.keeping = keeping;
  }

  get name() {
    return this.keeping.name;
  }

  start() {
    const begun = Date.now();
    const child = this.keeping.launch();
    this.#child = child;
    this.mark = child.pid === undefined ? undefined : markOf(child.pid);
    let ended = false;
    /** @param {{ code: number | null, signal: string | null, error?: Error }} how */
    const end = (how) => {
      if (ended) return;
      ended = true;
      this.#child = undefined;
      this.mark = undefined;
      if (this.#stopping) return;
      this.keeping.onChange?.();
      if (!this.keeping.onEnd(how)) return;
      if (Date.now() - begun > HEALTHY_AFTER_MS) this.#pauseMs = FIRST_PAUSE_MS;
      this.#restart = setTimeout(() => this.start(), this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    };
    child.once('exit', (code, signal) => end({ code, signal }));
    child.once('error', (error) => end({ code: null, signal: null, error }));
    this.keeping.onChange?.();
  }

  /** Stops it: each step's signal with its time limit, then SIGKILL for the whole group. */
  async stop() {
    this.#stopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child?.pid === undefined) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    for (const { signal, limitMs } of this.keeping.stopSteps) {
      sendSignal(child.pid, signal);
      if (await within(limitMs, gone)) return;
    }
    sendSignal(-child.pid, 'SIGKILL');
    await gone;
  }
}

/** @param {number} limitMs @param {Promise<unknown>} event @returns {Promise<boolean>} */
async function within(limitMs, event) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  const met = await Promise.race([event.then(() => true), limit]);
  clearTimeout(timer);
  return met;
}
