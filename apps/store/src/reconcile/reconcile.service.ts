import { Injectable } from '@nestjs/common';
import type {
  HighestNumbers,
  KnownCustomer,
  KnownStock,
  ListAllStock,
  ListCustomers,
  OrderFinding,
  ReconciledPage,
  ReconcileOrders,
} from '@plant-shop/contracts/reconcile';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf } from '@plant-shop/platform/postgres/sqlstate';
import { findSetAside, type SetAside } from '../checkout/due-orders.repository.js';
import { DueOrdersService } from '../checkout/due-orders.service.js';
import { findAllStock, findCustomers, readHighestNumbers } from './reconcile.repository.js';

/** Sorts before every UUID in use. */
const noUser = '00000000-0000-0000-0000-000000000000';

/** Lets catalog and identity compare their data with the store's after a restore, and retries orders that are set aside. */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly database: Database,
    private readonly dueOrders: DueOrdersService,
  ) {}

  highestNumbers(): Promise<HighestNumbers> {
    return readHighestNumbers(this.database);
  }

  stock({ after = 0, limit = 1_000 }: ListAllStock): Promise<KnownStock[]> {
    return findAllStock(this.database, after, limit);
  }

  customers({ after = noUser, limit = 1_000 }: ListCustomers): Promise<KnownCustomer[]> {
    return findCustomers(this.database, after, limit);
  }

  async orders({ after = 0, limit = 100, dryRun = false }: ReconcileOrders): Promise<ReconciledPage<OrderFinding, number>> {
    const found = await findSetAside(this.database, after, limit);
    const findings: OrderFinding[] = [];
    for (const order of found) findings.push(dryRun ? toFinding(order, 'found') : await this.retry(order));
    const last = found.length < limit ? undefined : found.at(-1);
    return { checked: found.length, ...(last && { next: last.id }), findings };
  }

  private async retry(order: SetAside): Promise<OrderFinding> {
    const error = await this.dueOrders.retry(order.id);
    if (!error) return toFinding(order, 'mended');
    return toFinding({ ...order, sqlState: sqlStateOf(error) ?? '', broken: constraintOf(error) ?? '' }, 'left');
  }
}

const toFinding = ({ id, transition, sqlState, broken }: SetAside, outcome: OrderFinding['outcome']): OrderFinding => ({
  orderId: id,
  drift: 'order-set-aside',
  outcome,
  move: transition,
  sqlState,
  ...(broken && { constraint: broken }),
});
