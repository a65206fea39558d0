import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** One-way latency, so that some requests are always in transit when a server closes its connections. */
const LATENCY_MS = 20;

/**
 * Simulates the address of a Kubernetes Service: chooses a backend per TCP connection, without regard to HTTP. An established
 * connection keeps its backend even after `remove`, as with kube-proxy.
 */
export class ServiceAddress {
  /** @type {number[]} */
  #backends = [];
  #turn = 0;
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set();
  #server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#connect(client));

  async start() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get authority() {
    return `127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port}`;
  }

  /** @param {number} port */
  add(port) {
    this.#backends.push(port);
  }

  /** Stops routing new connections to this port. @param {number} port */
  remove(port) {
    this.#backends = this.#backends.filter((one) => one !== port);
  }

  stop() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** @param {import('node:net').Socket} client */
  #connect(client) {
    const port = this.#backends[this.#turn++ % this.#backends.length];
    if (port === undefined) {
      client.destroy();
      return;
    }
    const backend = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.#forward(client, backend);
    this.#forward(backend, client);
  }

  /** @param {import('node:net').Socket} from @param {import('node:net').Socket} to */
  #forward(from, to) {
    const later = async (/** @type {() => void} */ what) => {
      await pause(LATENCY_MS);
      if (!to.destroyed) what();
    };
    this.#sockets.add(from);
    from.on('data', (bytes) => later(() => to.write(bytes)));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => later(() => to.resetAndDestroy()));
    from.on('close', () => {
      this.#sockets.delete(from);
      void later(() => to.destroySoon());
    });
  }
}
