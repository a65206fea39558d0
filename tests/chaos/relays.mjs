import { Worker } from 'node:worker_threads';

/**
 * Relays on a thread of their own: what clients do to this process must not look to the shop as if its network were slow.
 */
export class Relays {
  #worker = new Worker(new URL('relays.worker.mjs', import.meta.url));
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  #asked = new Map();
  #calls = 0;

  constructor() {
    this.#worker.on('message', ({ call, value, error }) => {
      const waiting = this.#asked.get(call);
      this.#asked.delete(call);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
  }

  /** @param {string} url of a server @returns {Promise<import('./dist/stack.js').Link>} */
  async to(url) {
    const { hostname, port: serverPort } = new URL(url);
    const port = await this.#ask('start', { host: hostname, port: Number(serverPort) });
    return { port, cut: () => this.#ask('cut', port), restore: () => this.#ask('restore', port) };
  }

  async end() {
    await this.#worker.terminate();
  }

  /** @param {'start' | 'cut' | 'restore'} what @param {unknown} about */
  #ask(what, about) {
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#asked.set(call, { resolve, reject });
      this.#worker.postMessage({ call, what, about });
    });
  }
}
