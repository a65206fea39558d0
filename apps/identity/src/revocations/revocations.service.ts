import { Injectable } from '@nestjs/common';
import { type ReadRevocations, revocationsSubject, type Revocations } from '@plant-shop/contracts/identity';
import { Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { readRevocations } from './revocations.repository.js';

@Injectable()
export class RevocationsService {
  constructor(
    private readonly database: Database,
    private readonly nats: Nats,
  ) {}

  read(place: ReadRevocations): Promise<Revocations> {
    return readRevocations(this.database, place);
  }

  /** Called after the commit. A lost nudge costs followers 250 ms; while NATS is away they do not follow at all. */
  nudge(): void {
    if (this.nats.isUp) this.nats.connection.publish(revocationsSubject);
  }
}
