import { Worker } from 'node:worker_threads';

/** @typedef {'cut' | 'restore' | 'stallAll' | 'admit' | 'resume' | 'deafen' | 'drop'} Command of a relay, by the name of its method */

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

  /** @param {string[]} urls of a server, or of several that are alike @returns {Promise<import('./dist/stack.js').Link>} */
  async to(...urls) {
    const port = await this.#ask('start', urls.map(targetOf));
    /** @param {Command} what */
    const tell = (what) => () => this.#ask(what, port);
    return {
      port,
      cut: tell('cut'),
      restore: tell('restore'),
      stall: tell('stallAll'),
      admit: tell('admit'),
      resume: tell('resume'),
      deafen: tell('deafen'),
      drop: tell('drop'),
      retarget: (url) => this.#ask('retarget', { port, targets: [targetOf(url)] }),
    };
  }

  async end() {
    await this.#worker.terminate();
  }

  /** @param {'start' | 'retarget' | Command} what @param {unknown} about */
  #ask(what, about) {
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#asked.set(call, { resolve, reject });
      this.#worker.postMessage({ call, what, about });
    });
  }
}

/** @param {string} url */
function targetOf(url) {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}
