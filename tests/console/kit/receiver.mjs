import { createServer } from 'node:http';
import { once } from 'node:events';

/** A webhook endpoint with a configurable answer. */
export class Receiver {
  /** Status of the next answers. */
  status = 200;
  body = '';
  /** Ids of the received webhooks. @type {string[]} */
  ids = [];
  #server = createServer((request, response) => {
    this.ids.push(String(request.headers['webhook-id']));
    request.resume().on('end', () => response.writeHead(this.status, { 'content-type': 'text/html' }).end(this.body));
  });

  async open() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** @returns {string} */
  get url() {
    const bound = this.#server.address();
    return `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}/hooks`;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
