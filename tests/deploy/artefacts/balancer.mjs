import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';

/**
 * A minimal stand-in for a Kubernetes Service: forwards requests round robin to ready backends and never repeats one. A backend that
 * is not ready gets no new requests, and finishes those in flight.
 */
export class Balancer {
  #agent = new Agent({ keepAlive: true });
  /** @type {{ port: number, ops: number, isReady: boolean }[]} */
  #backends = [];
  #turn = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #clock;
  #server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));

  async start() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#clock = setInterval(() => void this.#look(), 100);
    return this;
  }

  get url() {
    return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port}`;
  }

  /** @param {{ port: number, ops: number }} backend */
  async add(backend) {
    this.#backends.push({ ...backend, isReady: false });
    await this.#look();
  }

  /** @param {number} port */
  remove(port) {
    this.#backends = this.#backends.filter((one) => one.port !== port);
  }

  async stop() {
    clearInterval(this.#clock);
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
  }

  async #look() {
    await Promise.all(
      this.#backends.map(async (one) => {
        const asked = fetch(`http://127.0.0.1:${one.ops}/readyz`, { signal: AbortSignal.timeout(1_000) });
        one.isReady = await asked.then((response) => response.ok, () => false);
      }),
    );
  }

  /** @param {import('node:http').IncomingMessage} incoming @param {import('node:http').ServerResponse} outgoing */
  #pass(incoming, outgoing) {
    const ready = this.#backends.filter((one) => one.isReady);
    const backend = ready[this.#turn++ % ready.length];
    if (!backend) {
      outgoing.writeHead(502).end('no backend is ready');
      return;
    }
    const { method, url, headers } = incoming;
    const passed = request({ host: '127.0.0.1', port: backend.port, method, path: url, headers, agent: this.#agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', (error) => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end(`lost in transit: ${error.message}`);
    });
    incoming.pipe(passed);
  }
}
