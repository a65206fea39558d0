import { Injectable } from '@nestjs/common';
import type { Connection } from './connection.js';
import { Connections } from './connections.js';
import type { StreamRequest } from './request.js';
import { type StartingPlace, StartingPlaces } from './starting-places.js';

/** Admits WebSockets and event streams by the same rules. */
@Injectable()
export class Admission {
  constructor(
    private readonly connections: Connections,
    private readonly places: StartingPlaces,
  ) {}

  /**
   * Checks room, credentials and cursor, then calls `open` in the same turn of the event loop.
   * @throws CodedError when the client is refused
   */
  async admit(
    { shown, filter, start = 'latest' }: StreamRequest,
    requestId: string,
    open: (connection: Connection, start: StartingPlace) => void,
  ): Promise<void> {
    const connection = await this.connections.admit(shown, filter, requestId);
    try {
      const place = await this.places.of(start);
      this.connections.checkStillOpen(connection);
      open(connection, place);
    } finally {
      // The client disconnected, or was refused after it had been counted.
      if (!connection.outlet) this.connections.gone(connection, 'none');
    }
  }
}
