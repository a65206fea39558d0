import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Caller } from '@plant-shop/credentials/caller';
import { CredentialRefused } from '@plant-shop/credentials/credential-refused';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Shown } from '@plant-shop/credentials/shown';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { Connection } from './connection.js';
import { CredentialWatch } from './credential-watch.js';
import { Delivery } from './delivery.js';
import { Expiries } from './expiries.js';
import { Heartbeat } from './heartbeat.js';
import { LogTail } from './log-tail.js';
import { StreamMetrics } from './metrics.js';
import type { CloseCode, Outlet } from './outlet.js';
import { Sender } from './sender.js';
import type { StartingPlace } from './starting-places.js';
import type { Filter } from './subscription.js';

const secondMs = 1_000;
/** A drain ends connections in so many parts, so that their clients do not come to the other replicas all at once. */
const drainParts = 20;
const drainPauseMs = 75;
const drainAtOnce = 50;

/** All open streams of this replica: how they begin, what they live on, why they end. */
@Injectable()
export class Connections implements OnModuleInit, OnApplicationShutdown {
  private readonly all = new Set<Connection>();
  private readonly perCredential = new Map<string, number>();
  private readonly heartbeat: Heartbeat;
  private readonly expiries = new Expiries();
  private clock: NodeJS.Timeout | undefined;
  private draining = false;
  private readonly atDrain: (() => void)[] = [];

  constructor(
    private readonly delivery: Delivery,
    private readonly watch: CredentialWatch,
    private readonly sender: Sender,
    private readonly metrics: StreamMetrics,
    private readonly revocations: RevocationLog,
    tail: LogTail,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {
    this.heartbeat = new Heartbeat(options.stream.pingSeconds);
    watch.listen({
      hold: (connection) => connection.outlet && delivery.hold(connection),
      release: (connection) => this.release(connection),
      close: (connection, code) => this.close(connection, code),
    });
    sender.listen((connection) => this.close(connection, 4101));
    tail.listen({
      setBack: () => {
        // They come back with cursors, and are told what is missing.
        for (const connection of this.all) this.close(connection, 4200);
      },
    });
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

  /** What else is to be done when a drain begins. */
  onDrain(begin: () => void): void {
    this.atDrain.push(begin);
  }

  /**
   * @param others clients that are served without a connection of ours
   * @throws CodedError while nobody new is let in
   */
  checkRoom(others = 0): void {
    if (this.draining) throw new CodedError('unavailable', 'This replica is being stopped. Connect again.');
    if (this.all.size + others >= this.options.stream.maxConnections) throw overloaded('This replica of the stream');
  }

  /**
   * A connection whose handshake goes on: what ends its credentials from now on ends it.
   * @throws CodedError
   */
  async admit(shown: Shown, filter: Filter, requestId: string): Promise<Connection> {
    this.checkRoom();
    return this.watch.check(shown, requestId, (caller) => {
      this.checkRoom();
      this.count(caller);
      const connection = new Connection(shown, caller, filter);
      this.all.add(connection);
      this.watch.add(connection);
      this.expiries.add(connection);
      return connection;
    });
  }

  /** @throws CodedError when what it lives on has ended during its handshake */
  checkStillOpen({ state, closedWith }: Connection): void {
    if (state !== 'closed') return;
    if (closedWith === 4200) this.checkRoom();
    throw new CredentialRefused('credential-refused', 'The credential has just ended.');
  }

  /** Its handshake is done: from here on it gets what follows its place. */
  open(connection: Connection, outlet: Outlet, { place, gap }: StartingPlace): void {
    connection.outlet = outlet;
    connection.gap = gap;
    this.metrics.connections.inc({ transport: outlet.transport });
    this.heartbeat.add(connection);
    if (connection.isChecked) {
      connection.place = place;
      connection.state = 'held';
    } else {
      this.delivery.begin(connection, place);
    }
  }

  close(connection: Connection, code: CloseCode): void {
    if (connection.state === 'closed') return;
    connection.closedWith = code;
    connection.outlet?.close(code);
    this.forget(connection, code);
  }

  /** The client has ended it, or its network. */
  gone(connection: Connection, code: number | 'none'): void {
    if (connection.state !== 'closed') this.forget(connection, code);
  }

  /** Closes all, in parts, and lets nobody new in. Resolves when all were told. */
  async drain(): Promise<void> {
    this.draining = true;
    for (const begin of this.atDrain) begin();
    const atOnce = Math.max(drainAtOnce, Math.ceil(this.all.size / drainParts));
    for (;;) {
      for (const connection of [...this.all].slice(0, atOnce)) this.close(connection, 4200);
      if (this.all.size === 0) return;
      await sleep(drainPauseMs);
    }
  }

  private release(connection: Connection): void {
    this.expiries.delete(connection);
    this.expiries.add(connection);
    if (connection.outlet) this.delivery.release(connection);
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

  private forget(connection: Connection, code: number | 'none'): void {
    const { credential } = connection.caller;
    const left = (this.perCredential.get(credential) ?? 1) - 1;
    if (left > 0) this.perCredential.set(credential, left);
    else this.perCredential.delete(credential);
    this.delivery.end(connection);
    this.all.delete(connection);
    this.watch.delete(connection);
    this.expiries.delete(connection);
    this.heartbeat.delete(connection);
    if (!connection.outlet) return;
    this.metrics.connections.dec({ transport: connection.outlet.transport });
    this.metrics.closes.inc({ code: String(code) });
  }

  private tick(): void {
    this.heartbeat.tick(
      (connection) => {
        connection.outlet?.socket.destroy();
        this.gone(connection, 'none');
      },
      (connection) => this.close(connection, 1008),
    );
    this.sender.slowClients.sweep(performance.now(), (connection, code) => this.close(connection, code));
    for (const connection of this.expiries.sweep(this.revocations.identityTime())) this.close(connection, 4201);
  }
}
