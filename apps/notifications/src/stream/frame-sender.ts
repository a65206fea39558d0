import { Inject, Injectable } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Connection } from './connection.js';
import type { Selection } from './entry-batch.js';
import { StreamMetrics } from './metrics.js';
import { SlowClients } from './slow-clients.js';

/** How long is waited before it is asked again whether anything may be sent. */
export const heldPauseMs = 50;

/** The one position that writes events to sockets. While revocations cannot be followed, nothing is sent to anybody. */
@Injectable()
export class FrameSender {
  readonly slowClients = new SlowClients();
  private slowClient: (connection: Connection) => void = () => undefined;

  constructor(
    @Inject(RevocationLog) private readonly revocations: Pick<RevocationLog, 'isFresh' | 'identityTime'>,
    private readonly metrics: StreamMetrics,
  ) {}

  /** What to do with a client that left too much unread. */
  onSlowClient(slowClient: (connection: Connection) => void): void {
    this.slowClient = slowClient;
  }

  get maySend(): boolean {
    const { isFresh } = this.revocations;
    this.metrics.isHeld.set(isFresh ? 0 : 1);
    return isFresh;
  }

  /** Milliseconds since the epoch, by a database's clock: this host's may be minutes away from those that events were timed by. */
  get now(): number {
    return this.revocations.identityTime();
  }

  /** @returns how many events and gaps were sent */
  send(connection: Connection, { bytes, count }: Selection): number {
    const { transport } = connection;
    if (!transport || count === 0) return 0;
    if (!SlowClients.takesMore(connection)) {
      this.slowClient(connection);
      return 0;
    }
    transport.send(bytes);
    this.slowClients.note(connection, performance.now());
    this.metrics.frames.inc({ transport: transport.kind }, count);
    return count;
  }
}
