import { Agent, request } from 'node:http';

/**
 * A server announces its end for 2 s: each answer closes its connection. A connection that it closes without an announcement had no answer in that time. The
 * rest is a tolerance: this process notices an answer late when the machine is busy.
 */
const IDLE_MS = 1_500;

/**
 * Kept-alive connections of an HTTP client. A server may close an idle connection while a request is on its way, and cannot announce that where
 * it answers nothing. So a request that is lost on such a connection is sent again, as HTTP clients do (RFC 9112, section 9.3.1). Every other loss is an error:
 * on a connection in use, the server must have announced its end.
 */
export class KeptConnections {
  /** Number of requests that were sent again. */
  resent = 0;
  #agent = new Agent({ keepAlive: true });
  /** When a connection became idle. @type {WeakMap<object, number>} */
  #idleSince = new WeakMap();

  constructor() {
    this.#agent.on('free', (socket) => this.#idleSince.set(socket, performance.now()));
  }

  close() {
    this.#agent.destroy();
  }

  /**
   * @param {string} url @param {{ method?: string, headers: Record<string, string>, body?: string | undefined }} what
   * @returns {Promise<import('node:http').IncomingMessage>} resolves with the head of the answer
   */
  send(url, { method = 'GET', headers, body }) {
    return new Promise((resolve, reject) => {
      let idleMs = 0;
      const asked = request(url, { method, headers, agent: this.#agent }, resolve);
      asked.on('socket', (socket) => (idleMs = performance.now() - (this.#idleSince.get(socket) ?? Infinity)));
      asked.on('error', (error) => {
        if (idleMs < IDLE_MS) return reject(error);
        this.resent++;
        resolve(this.send(url, { method, headers, body }));
      });
      asked.end(body);
    });
  }
}
