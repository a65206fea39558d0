import { Injectable } from '@nestjs/common';
import type { Connection } from '../connection.js';
import { Connections } from './connections.js';
import type { StreamRequest } from '../request.js';
import { type StartingPosition, StartingPositions } from './starting-positions.js';

/** Admits WebSocket and SSE clients by the same rules. */
@Injectable()
export class Admission {
  constructor(
    private readonly connections: Connections,
    private readonly positions: StartingPositions,
  ) {}

  /**
   * Checks capacity, credentials and cursor, then calls `open` in the same turn of the event loop as the last check.
   * @throws CodedError when the client is refused
   */
  async admit(
    { credentials, filter, start = 'latest' }: StreamRequest,
    requestId: string,
    open: (connection: Connection, start: StartingPosition) => void,
  ): Promise<void> {
    const connection = await this.connections.register(credentials, filter, requestId);
    try {
      const position = await this.positions.of(start);
      this.connections.checkStillOpen(connection);
      open(connection, position);
    } finally {
      // The client disconnected or was refused after it had been counted.
      if (!connection.transport) this.connections.disconnected(connection, 'none');
    }
  }
}
