import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type Authentication, CredentialRefused } from '@plant-shop/credentials/authentication';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import { assertMaySee, type Filter } from '../../log/subscription.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { CatchUp } from '../broadcast/catch-up.js';
import { FrameSender } from '../broadcast/frame-sender.js';
import { type ClientTransport, type CloseCode, Connection } from '../connection.js';
import { StreamMetrics } from '../metrics.js';
import { CredentialWatch } from './credential-watch.js';
import { Deadlines, Heartbeat } from './heartbeat.js';
import { reconnectAfterMs } from './reconnect.js';
import type { StreamRequest } from '../request.js';
import { type StartingPosition, StartingPositions } from './starting-positions.js';

/** Part of the limit at which a replica counts as full. Below 1, because balancers notice it seconds later. */
const fullFrom = 0.95;
/** A full replica stays full until it is below this part of the limit, so that it does not flap with each client. */
const freeBelow = 0.9;

/** Returns whether a replica with `open` connections should get no more. */
export const isFull = (wasFull: boolean, open: number, limit: number): boolean => open >= limit * (wasFull ? freeBelow : fullFrom);

/**
 * Returns the maximum age of one connection in milliseconds: random, between half of `maxMs` and all of it, so that connections that
 * began together do not end together.
 */
export const ageLimitMs = (maxMs: number, random: number): number => (maxMs === 0 ? Infinity : maxMs * (1 - random / 2));

const secondMs = 1_000;
/** A drain closes connections in this many parts, so that other work gets its turn. Clients are advised when to reconnect (reconnect.ts). */
const drainParts = 20;
const drainPauseMs = 75;
const drainAtOnce = 50;

/** All WebSocket and SSE clients of this replica: registers, opens, expires and closes them. Counts long polls together with them. */
@Injectable()
export class Connections implements OnModuleInit, OnApplicationShutdown {
  private readonly all = new Set<Connection>();
  /** Number of long polls. They have no `Connection`, and count like one. */
  private polls = 0;
  /** Connections and long polls by user. */
  private readonly perUser = new Map<string, number>();
  private readonly heartbeat: Heartbeat;
  /** When credentials expire, by identity's clock. */
  private readonly expiries = new Deadlines();
  /** When connections reach their maximum age, by `performance.now`. */
  private readonly ages = new Deadlines();
  private full = false;
  private clock: NodeJS.Timeout | undefined;
  private draining = false;
  private ended = false;
  private readonly atDrain: (() => void)[] = [];

  constructor(
    private readonly catchUp: CatchUp,
    private readonly watch: CredentialWatch,
    private readonly sender: FrameSender,
    private readonly metrics: StreamMetrics,
    private readonly revocations: RevocationLog,
    private readonly positions: StartingPositions,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {
    this.heartbeat = new Heartbeat(options.stream.pingSeconds);
    watch.onChange({
      // During the handshake nothing is sent; `open` then holds the connection.
      hold: (connection) => connection.transport && catchUp.hold(connection),
      release: (connection) => this.release(connection),
      close: (connection, code) => this.close(connection, code),
    });
    sender.onSlowClient((connection) => this.close(connection, 4101));
    metrics.watchCapacity(() => this.full, options.stream.maxConnections);
  }

  onModuleInit(): void {
    this.clock = setInterval(() => this.tick(), secondMs);
  }

  onApplicationShutdown(): void {
    clearInterval(this.clock);
  }

  get isDraining(): boolean {
    return this.draining;
  }

  /**
   * Checks whether this replica should get new clients. It still accepts clients up to its limit.
   * @throws Error with a text for operators
   */
  checkReadyForMore(): void {
    if (this.full) throw new Error(`full: ${this.size} of ${this.options.stream.maxConnections} connections`);
  }

  /** Closes all connections with 4200. Clients come back with their cursors, and get a gap notice for what is missing. */
  closeAll(): void {
    this.closeTogether([...this.all], 4200, this.all.size);
  }

  /** Adds a function to call when a drain begins. */
  onDrain(begin: () => void): void {
    this.atDrain.push(begin);
  }

  /**
   * For WebSocket clients: they open a new TCP connection, which a balancer can send to another replica.
   * @throws CodedError `unavailable` during a drain
   */
  checkNotDraining(): void {
    if (this.draining) throw stopping();
  }

  /** @throws CodedError `unavailable` when drained, `overloaded` when this replica has as many clients as its limit */
  checkRoom(): void {
    if (this.ended) throw stopping();
    if (this.size >= this.options.stream.maxConnections) throw overloaded('This replica of the stream');
  }

  /**
   * Admits a WebSocket or SSE client: checks capacity, credentials and cursor, then calls `open` in the same turn of the event loop as the last
   * check.
   * @throws CodedError when the client is refused
   */
  async admit(
    { credentials, filter, start = 'latest' }: StreamRequest,
    requestId: string,
    open: (connection: Connection, start: StartingPosition) => void,
  ): Promise<void> {
    const connection = await this.register(credentials, filter, requestId);
    try {
      const position = await this.positions.of(start);
      this.checkStillOpen(connection);
      open(connection, position);
    } finally {
      // The client disconnected or was refused after it had been counted.
      if (!connection.transport) this.disconnected(connection, 'none');
    }
  }

  /** Registers a connection whose handshake is in progress: from now on, the end of its credentials closes it. */
  private async register(credentials: PresentedCredentials, filter: Filter, requestId: string): Promise<Connection> {
    this.checkRoom();
    return this.watch.check(credentials, filter.types, requestId, (authentication) => {
      assertMaySee(filter.types.types, authentication.principal);
      this.count(authentication);
      const connection = new Connection(credentials, authentication, filter);
      this.all.add(connection);
      this.watch.add(connection);
      this.expiries.add(connection, authentication.expiresAt);
      this.updateFull();
      return connection;
    });
  }

  /**
   * Counts a long poll until the returned function is called.
   * @throws CodedError as for a connection
   */
  registerPoll(authentication: Authentication): () => void {
    this.count(authentication);
    this.polls++;
    this.updateFull();
    this.metrics.connections.inc({ transport: 'page' });
    return () => {
      this.discount(authentication);
      this.polls--;
      this.updateFull();
      this.metrics.connections.dec({ transport: 'page' });
    };
  }

  /** @throws CodedError when the connection was closed during its handshake, by a drain or the end of its credentials */
  private checkStillOpen({ state, closeCode }: Connection): void {
    if (state !== 'closed') return;
    if (closeCode === 4200) throw stopping();
    throw new CredentialRefused('credential-refused', 'The credential has just been revoked or has expired.');
  }

  /** Starts sending after the handshake, with the entry after the starting position. */
  open(connection: Connection, transport: ClientTransport, { position, gap }: StartingPosition): void {
    connection.transport = transport;
    connection.gap = gap;
    this.metrics.connections.inc({ transport: transport.kind });
    this.heartbeat.add(connection);
    // Only resumable clients have an age limit: others would lose the events until they have reconnected.
    if (transport.format !== 'plain') {
      this.ages.add(connection, performance.now() + ageLimitMs(this.options.stream.maxAgeSeconds * 1_000, Math.random()));
    }
    if (connection.isRechecking) {
      connection.position = position;
      connection.state = 'rechecking';
    } else {
      this.catchUp.begin(connection, position);
    }
  }

  /** @param leaving number of connections that are closed for the same reason at the same time, this one included */
  close(connection: Connection, code: CloseCode, leaving = 1): void {
    if (connection.state === 'closed') return;
    connection.closeCode = code;
    connection.transport?.close(code, reconnectAfterMs(code, leaving, Math.random()));
    this.forget(connection, code);
  }

  /** Removes a connection that the client or the network has ended. */
  disconnected(connection: Connection, code: number | string): void {
    if (connection.state !== 'closed') this.forget(connection, code);
  }

  /**
   * Closes all connections, in parts. Until `announced` resolves, new streams on open keep-alive connections are still accepted and
   * closed with the next part; after that none are. Resolves when all connections are closed.
   */
  async drain(announced: Promise<void>): Promise<void> {
    this.draining = true;
    for (const begin of this.atDrain) begin();
    void announced.then(() => (this.ended = true));
    const leaving = this.all.size;
    const atOnce = Math.max(drainAtOnce, Math.ceil(leaving / drainParts));
    for (;;) {
      // Connections in their handshake are closed after it, so that clients get 4200 instead of a refusal.
      const part = [...this.all].filter(({ transport }) => transport ?? this.ended).slice(0, atOnce);
      this.closeTogether(part, 4200, leaving);
      if (this.ended && this.all.size === 0) return;
      await sleep(drainPauseMs);
    }
  }

  private closeTogether(connections: readonly Connection[], code: CloseCode, leaving = connections.length): void {
    for (const connection of connections) this.close(connection, code, leaving);
  }

  /** The number of clients, by any transport. */
  private get size(): number {
    return this.all.size + this.polls;
  }

  private updateFull(): void {
    this.full = isFull(this.full, this.size, this.options.stream.maxConnections);
  }

  private release(connection: Connection): void {
    this.expiries.delete(connection);
    this.expiries.add(connection, connection.authentication.expiresAt);
    if (connection.transport) this.catchUp.release(connection);
  }

  /** @throws CodedError when this replica, or the user, is at its limit */
  private count({ client }: Authentication): void {
    this.checkRoom();
    const count = this.perUser.get(client) ?? 0;
    if (count >= this.options.stream.maxConnectionsPerUser) {
      throw new CodedError('too-many-requests', 'You have reached your limit of connections, over all your credentials. Close one first.', {
        retryAfter: 5,
      });
    }
    this.perUser.set(client, count + 1);
  }

  private discount({ client }: Authentication): void {
    const left = (this.perUser.get(client) ?? 1) - 1;
    if (left > 0) this.perUser.set(client, left);
    else this.perUser.delete(client);
  }

  private forget(connection: Connection, code: number | string): void {
    this.discount(connection.authentication);
    this.catchUp.end(connection);
    this.all.delete(connection);
    this.watch.delete(connection);
    this.expiries.delete(connection);
    this.ages.delete(connection);
    this.updateFull();
    this.heartbeat.delete(connection);
    if (!connection.transport) return;
    this.metrics.connections.dec({ transport: connection.transport.kind });
    this.metrics.closes.inc({ code: String(code) });
  }

  private tick(): void {
    this.heartbeat.tick(
      (connection) => this.catchUp.cursorOf(connection),
      (connection) => {
        connection.transport?.socket.destroy();
        this.disconnected(connection, 'none');
      },
    );
    this.sender.slowClients.sweep(performance.now(), (connection, code) => this.close(connection, code));
    this.closeTogether(this.expiries.sweep(this.revocations.identityTime()), 4201);
    this.closeTogether(this.ages.sweep(performance.now()), 4200);
  }
}

const stopping = (): CodedError => new CodedError('unavailable', 'This replica is stopping. Connect again.');
