import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../errors.js';

/**
 * How long requests on open connections are still served after the end was announced. Measured in a cluster under 100
 * requests a second: without it each of six rollouts lost 0 to 2 requests, with it five rollouts lost none of 16,253.
 */
const announceMs = 2_000;
const pollMs = 25;

/**
 * Ends the connections of an HTTP server without losing the requests that are on their way.
 *
 * A Service of Kubernetes leaves established connections on a pod that ends, and a server that closes an idle connection
 * cannot know that a request is about to arrive on it. So clients hear first, by `Connection: close`, that the connection
 * ends with the answer.
 */
export class ConnectionDrain {
  private isAnnounced = false;
  private readonly end = new AbortController();

  /** Aborted when the end is announced, with an `unavailable` as its reason: for requests that would last longer than the drain. */
  readonly ending: AbortSignal = this.end.signal;

  /** For `createServer`: from the announcement on, answers say `Connection: close`. */
  readonly ServerResponse: typeof ServerResponse;

  constructor() {
    const mustClose = (): boolean => this.isAnnounced;
    this.ServerResponse = class<Request extends IncomingMessage> extends ServerResponse<Request> {
      override writeHead(...args: [number, ...never[]]): this {
        if (mustClose()) this.shouldKeepAlive = false;
        return super.writeHead(...args);
      }
    };
  }

  /** Announces the end and keeps serving, for 2 s or until no connection is open. The server must still be listening. */
  async announce(server: Server): Promise<void> {
    this.isAnnounced = true;
    this.end.abort(ends());
    const end = performance.now() + announceMs;
    while (performance.now() < end && (await openConnections(server)) > 0) await sleep(pollMs);
  }

  /** Closes connections as soon as they are idle, until none is open or the time is over. */
  async finish(server: Server, limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    while ((await openConnections(server)) > 0 && performance.now() < end) {
      server.closeIdleConnections();
      await sleep(pollMs);
    }
  }
}

const ends = (): CodedError => new CodedError('unavailable', 'This process is being replaced. Send the rest again.');

const openConnections = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.getConnections((_, count) => {
      resolve(count);
    });
  });
