import { Injectable } from '@nestjs/common';
import type {
  HighestNumbers,
  KnownCustomer,
  KnownStock,
  ListAllStock,
  ListCustomers,
} from '@plant-shop/contracts/reconcile';
import { Database } from '@plant-shop/platform/postgres/database';
import { findAllStock, findCustomers, readHighestNumbers } from './reconcile.repository.js';

/** Before all UUIDs that are used. */
const noUser = '00000000-0000-0000-0000-000000000000';

/** What catalog and identity compare themselves with after a database was set back. */
@Injectable()
export class ReconcileService {
  constructor(private readonly database: Database) {}

  highestNumbers(): Promise<HighestNumbers> {
    return readHighestNumbers(this.database);
  }

  stock({ after = 0, limit = 1_000 }: ListAllStock): Promise<KnownStock[]> {
    return findAllStock(this.database, after, limit);
  }

  customers({ after = noUser, limit = 1_000 }: ListCustomers): Promise<KnownCustomer[]> {
    return findCustomers(this.database, after, limit);
  }
}
