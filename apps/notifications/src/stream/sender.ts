import { Inject, Injectable } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Selected } from './batch.js';
import type { Connection } from './connection.js';
import { StreamMetrics } from './metrics.js';
import { SlowClients } from './slow-clients.js';

/** How long is waited before it is asked again whether anything may be sent. */
export const heldPauseMs = 50;

/** The one place that writes events to sockets. While revocations cannot be followed, nothing is sent to anybody. */
@Injectable()
export class Sender {
  readonly slowClients = new SlowClients();
  private onSlow: (connection: Connection) => void = () => undefined;

  constructor(
    @Inject(RevocationLog) private readonly revocations: Pick<RevocationLog, 'isFresh' | 'identityTime'>,
    private readonly metrics: StreamMetrics,
  ) {}

  /** What to do with a client that left too much unread. */
  listen(onSlow: (connection: Connection) => void): void {
    this.onSlow = onSlow;
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
  send(connection: Connection, { bytes, count }: Selected): number {
    const { outlet } = connection;
    if (!outlet || count === 0) return 0;
    if (!SlowClients.takesMore(connection)) {
      this.onSlow(connection);
      return 0;
    }
    outlet.send(bytes);
    this.slowClients.note(connection, performance.now());
    this.metrics.frames.inc({ transport: outlet.transport }, count);
    return count;
  }
}
