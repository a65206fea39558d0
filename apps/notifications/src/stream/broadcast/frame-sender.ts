import { Inject, Injectable } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Connection } from '../connection.js';
import type { Selection } from './live-connections.js';
import { StreamMetrics } from '../metrics.js';
import { SlowClients } from './slow-clients.js';

/** How long to wait before `maySend` is asked again. */
export const suspendedPauseMs = 50;

/** Writes entries to WebSocket and SSE clients; nothing else does. While revocations cannot be followed, nothing may be sent. */
@Injectable()
export class FrameSender {
  readonly slowClients = new SlowClients();
  private slowClient: (connection: Connection) => void = () => undefined;

  constructor(
    @Inject(RevocationLog) private readonly revocations: Pick<RevocationLog, 'isFresh' | 'identityTime'>,
    private readonly metrics: StreamMetrics,
  ) {}

  /** Replaces the function to call for a client that has too much unread. */
  onSlowClient(slowClient: (connection: Connection) => void): void {
    this.slowClient = slowClient;
  }

  get maySend(): boolean {
    const { isFresh } = this.revocations;
    this.metrics.isSuspended.set(isFresh ? 0 : 1);
    return isFresh;
  }

  /** Milliseconds since 1970 by identity's clock, since this host's may differ by minutes from the clocks that timed the events. */
  get now(): number {
    return this.revocations.identityTime();
  }

  /** Returns the number of events and gap notices sent. */
  send(connection: Connection, { bytes, count }: Selection): number {
    const { transport } = connection;
    if (!transport || count === 0) return 0;
    if (!SlowClients.takesMore(connection)) {
      this.slowClient(connection);
      return 0;
    }
    transport.send(bytes);
    this.slowClients.note(connection);
    this.metrics.sent[transport.kind] += count;
    return count;
  }
}
