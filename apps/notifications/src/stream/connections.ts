import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Caller } from '@plant-shop/credentials/caller';
import { CredentialRefused } from '@plant-shop/credentials/credential-refused';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import type { Filter } from '../log/subscription.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { ageLimitMs, isFull } from './capacity.js';
import { CatchUp } from './catch-up.js';
import type { CloseCode, ClientTransport } from './client-transport.js';
import { Connection } from './connection.js';
import { CredentialWatch } from './credential-watch.js';
import { Deadlines } from './deadlines.js';
import { FrameSender } from './frame-sender.js';
import { Heartbeat } from './heartbeat.js';
import { StreamMetrics } from './metrics.js';
import { reconnectAfterMs } from './reconnect.js';
import type { StartingPosition } from './starting-positions.js';

const secondMs = 1_000;
/** A drain closes connections in so many parts, so that other work has its turn. When their clients come back is advised to each (reconnect.ts). */
const drainParts = 20;
const drainPauseMs = 75;
const drainAtOnce = 50;

/** All open streams of this replica: how they begin, what they live on, why they end. */
@Injectable()
export class Connections implements OnModuleInit, OnApplicationShutdown {
  private readonly all = new Set<Connection>();
  private readonly perCredential = new Map<string, number>();
  private readonly heartbeat: Heartbeat;
  /** By identity's clock. */
  private readonly expiries = new Deadlines();
  /** By `performance.now`. */
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
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {
    this.heartbeat = new Heartbeat(options.stream.pingSeconds);
    watch.onChange({
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
   * Whether this replica should get new clients; it takes those that come all the same, up to its limit.
   * @throws Error in words for operators
   */
  checkNotFull(): void {
    if (this.full) throw new Error(`full: ${this.all.size} of ${this.options.stream.maxConnections} connections`);
  }

  /** Closes all connections with 4200. Clients come back with their cursors, and get a gap notice for what is missing. */
  closeAll(): void {
    this.closeTogether([...this.all], 4200, this.all.size);
  }

  /** What else is to be done when a drain begins. */
  onDrain(begin: () => void): void {
    this.atDrain.push(begin);
  }

  /**
   * For clients that come by a connection of their own, as WebSockets do: it can lead to another replica.
   * @throws CodedError
   */
  checkNotDraining(): void {
    if (this.draining) throw stopping();
  }

  /**
   * @param others clients that are served without a connection of ours
   * @throws CodedError while nobody new is let in
   */
  checkCapacity(others = 0): void {
    if (this.ended) throw stopping();
    if (this.all.size + others >= this.options.stream.maxConnections) throw overloaded('This replica of the stream');
  }

  /**
   * A connection whose handshake goes on: what ends its credentials from now on ends it.
   * @throws CodedError
   */
  async admit(credentials: PresentedCredentials, filter: Filter, requestId: string): Promise<Connection> {
    this.checkCapacity();
    return this.watch.check(credentials, requestId, (caller) => {
      this.checkCapacity();
      this.count(caller);
      const connection = new Connection(credentials, caller, filter);
      this.all.add(connection);
      this.watch.add(connection);
      this.expiries.add(connection, caller.expiresAt);
      this.full = this.isFull();
      return connection;
    });
  }

  /** @throws CodedError when what it lives on has ended during its handshake */
  checkStillOpen({ state, closeCode }: Connection): void {
    if (state !== 'closed') return;
    if (closeCode === 4200) throw stopping();
    throw new CredentialRefused('credential-refused', 'The credential has just ended.');
  }

  /** Its handshake is done: from here on it gets what follows its position. */
  open(connection: Connection, transport: ClientTransport, { position, gap }: StartingPosition): void {
    connection.transport = transport;
    connection.gap = gap;
    this.metrics.connections.inc({ transport: transport.kind });
    this.heartbeat.add(connection);
    // A client without a cursor would lose what happens until it is back.
    if (transport.format !== 'plain') {
      this.ages.add(connection, performance.now() + ageLimitMs(this.options.stream.maxAgeSeconds * 1_000, Math.random()));
    }
    if (connection.isRechecking) {
      connection.position = position;
      connection.state = 'held';
    } else {
      this.catchUp.begin(connection, position);
    }
  }

  /** @param leaving how many are closed with it, for the same reason */
  close(connection: Connection, code: CloseCode, leaving = 1): void {
    if (connection.state === 'closed') return;
    connection.closeCode = code;
    connection.transport?.close(code, reconnectAfterMs(code, leaving, Math.random()));
    this.forget(connection, code);
  }

  /** The client has ended it, or its network. */
  disconnected(connection: Connection, code: number | string): void {
    if (connection.state !== 'closed') this.forget(connection, code);
  }

  /**
   * Closes all, in parts. Streams that are asked for on connections that were already open begin until `announced` resolves,
   * and are closed with the next part; then nobody new is let in. Resolves when all were told.
   */
  async drain(announced: Promise<void>): Promise<void> {
    this.draining = true;
    for (const begin of this.atDrain) begin();
    void announced.then(() => (this.ended = true));
    const leaving = this.all.size;
    const atOnce = Math.max(drainAtOnce, Math.ceil(leaving / drainParts));
    for (;;) {
      // Those whose handshake goes on are told after it, so that they hear 4200 and not a refusal.
      const part = [...this.all].filter(({ transport }) => transport ?? this.ended).slice(0, atOnce);
      this.closeTogether(part, 4200, leaving);
      if (this.ended && this.all.size === 0) return;
      await sleep(drainPauseMs);
    }
  }

  private closeTogether(connections: readonly Connection[], code: CloseCode, leaving = connections.length): void {
    for (const connection of connections) this.close(connection, code, leaving);
  }

  private isFull(): boolean {
    return isFull(this.full, this.all.size, this.options.stream.maxConnections);
  }

  private release(connection: Connection): void {
    this.expiries.delete(connection);
    this.expiries.add(connection, connection.caller.expiresAt);
    if (connection.transport) this.catchUp.release(connection);
  }

  private count({ credential }: Caller): void {
    const count = this.perCredential.get(credential) ?? 0;
    if (count >= this.options.stream.maxConnectionsPerCredential) {
      throw new CodedError('too-many-requests', 'This credential has as many connections as are allowed. Close one first.', {
        retryAfter: 5,
      });
    }
    this.perCredential.set(credential, count + 1);
  }

  private forget(connection: Connection, code: number | string): void {
    const { credential } = connection.caller;
    const left = (this.perCredential.get(credential) ?? 1) - 1;
    if (left > 0) this.perCredential.set(credential, left);
    else this.perCredential.delete(credential);
    this.catchUp.end(connection);
    this.all.delete(connection);
    this.watch.delete(connection);
    this.expiries.delete(connection);
    this.ages.delete(connection);
    this.full = this.isFull();
    this.heartbeat.delete(connection);
    if (!connection.transport) return;
    this.metrics.connections.dec({ transport: connection.transport.kind });
    this.metrics.closes.inc({ code: String(code) });
  }

  private tick(): void {
    this.heartbeat.tick(
      (connection) => {
        connection.transport?.socket.destroy();
        this.disconnected(connection, 'none');
      },
      (connection) => this.close(connection, 1008),
    );
    this.sender.slowClients.sweep(performance.now(), (connection, code) => this.close(connection, code));
    this.closeTogether(this.expiries.sweep(this.revocations.identityTime()), 4201);
    this.closeTogether(this.ages.sweep(performance.now()), 4200);
  }
}

const stopping = (): CodedError => new CodedError('unavailable', 'This replica is being stopped. Connect again.');
