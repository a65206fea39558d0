import { once } from 'node:events';

/**
 * Cleanup steps, run one after another in a fixed order, independent of the order of the start. A failing step is reported,
 * and the others still run.
 * @template {string} Step
 */
export class Shutdown {
  /** @type {{ step: Step, end: () => unknown }[]} */
  #ends = [];
  /** @type {Promise<boolean> | undefined} */
  #running;

  /**
   * @param {readonly Step[]} order
   * @param {(step: Step, error: unknown) => void} report
   */
  constructor(order, report) {
    this.order = order;
    this.report = report;
  }

  /** Adds a function to a step. A step may have several, such as one for each shop that a test run starts. @param {Step} step @param {() => unknown} end */
  add(step, end) {
    this.#ends.push({ step, end });
  }

  /** @returns {Promise<boolean>} whether every step succeeded; a second call waits for the same run */
  run() {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run() {
    let clean = true;
    for (const { step, end } of this.order.flatMap((step) => this.#ends.filter((one) => one.step === step))) {
      try {
        await end();
      } catch (error) {
        clean = false;
        this.report(step, error);
      }
    }
    return clean;
  }
}

/** Services need NATS and Postgres until they end; run file and lock show others that something still runs. */
export const ORDER = /** @type {const} */ (['services', 'mail', 'NATS', 'Postgres', 'run file', 'lock']);

/** A requested stop, not a failure. */
export class StopRequest extends Error {}

/** Aborted by the first SIGINT, SIGTERM or SIGHUP; later ones (npm and the terminal each send one) change nothing. */
export function stopOnSignals() {
  const controller = new AbortController();
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => controller.abort(new StopRequest(`stopped by ${signal}`)));
  }
  return controller;
}

/** Waits for the reason to end, and throws it. @param {AbortSignal} signal @returns {Promise<never>} */
export async function untilStopped(signal) {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

/**
 * Runs tasks concurrently. When one fails, aborts the others and waits for them.
 * @template {readonly unknown[]} T
 * @param {AbortController} stop
 * @param {{ [K in keyof T]: T[K] | Promise<T[K]> }} tasks
 * @returns {Promise<T>}
 */
export async function together(stop, tasks) {
  const running = tasks.map((task) => Promise.resolve(task));
  for (const task of running) task.catch((error) => stop.abort(error));
  await Promise.allSettled(running);
  stop.signal.throwIfAborted();
  return /** @type {T} */ (/** @type {unknown} */ (await Promise.all(running)));
}
