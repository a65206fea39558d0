import { Injectable } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import type { ReadRevocations, Revocations } from '@plant-shop/contracts/identity';
import { Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { readRevocations } from './revocations.repository.js';

@Injectable()
export class RevocationsService {
  constructor(
    private readonly database: Database,
    private readonly nats: Nats,
  ) {}

  read(request: ReadRevocations): Promise<Revocations> {
    return readRevocations(this.database, request);
  }

  /**
   * Notifies followers after the commit. A lost nudge delays them by at most one pull interval (250 ms); without NATS they cannot
   * follow at all.
   */
  nudge(): void {
    if (this.nats.isUp) this.nats.connection.publish(broadcasts.revocations.subject);
  }
}
