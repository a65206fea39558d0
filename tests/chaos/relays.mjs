import { Worker } from 'node:worker_threads';

/** @typedef {'cut' | 'restore' | 'stallAll' | 'admit' | 'resume' | 'deafen' | 'drop'} Command name of a relay's method */

/**
 * TCP relays in a worker thread: load from the clients in this process must not look like a slow network to the shop.
 */
export class Relays {
  #worker = new Worker(new URL('relays.worker.mjs', import.meta.url));
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  #pending = new Map();
  #calls = 0;

  constructor() {
    this.#worker.on('message', ({ call, value, error }) => {
      const waiting = this.#pending.get(call);
      this.#pending.delete(call);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
  }

  /** @param {string[]} urls of one server, or of several equivalent ones @returns {Promise<import('./dist/stack.js').Link>} */
  async to(...urls) {
    const port = await this.#send('start', urls.map(targetOf));
    /** @param {Command} command */
    const send = (command) => () => this.#send(command, port);
    return {
      port,
      cut: send('cut'),
      restore: send('restore'),
      stall: send('stallAll'),
      admit: send('admit'),
      resume: send('resume'),
      deafen: send('deafen'),
      drop: send('drop'),
      retarget: (url) => this.#send('retarget', { port, targets: [targetOf(url)] }),
    };
  }

  async end() {
    await this.#worker.terminate();
  }

  /** @param {'start' | 'retarget' | Command} command @param {unknown} argument */
  #send(command, argument) {
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { resolve, reject });
      this.#worker.postMessage({ call, command, argument });
    });
  }
}

/** @param {string} url */
function targetOf(url) {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}
