import { Controller, Injectable } from '@nestjs/common';
import { firstAssignedId } from '@plant-shop/contracts/fields';
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
import { store } from '@plant-shop/contracts/store';
import { Database, type Reader } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { constraintOf, sqlStateOf } from '@plant-shop/platform/postgres/sqlstate';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { findSetAside, type SetAside } from '../checkout/due-orders.repository.js';
import { DueOrdersService } from '../checkout/due-orders.service.js';

/**
 * Reads the highest numbers that the store knows. The catalog draws a version with each plant id that it assigns, so an assigned
 * id is at most the first assigned id plus the highest version. Without this bound, one id that a client chose near 2^53 would
 * leave no ids to assign.
 */
async function readHighestNumbers(db: Reader): Promise<HighestNumbers> {
  return onlyRow(
    await db.query<HighestNumbers>(
      `WITH of_plants AS MATERIALIZED (
         SELECT coalesce(max(greatest(incarnation, listing_version)), 0) AS version,
                coalesce(max(refused_attempt), 0) AS attempt
         FROM stock
       )
       SELECT of_plants.version AS "plantVersion", attempt AS "retireAttempt",
         (SELECT coalesce(max(plant_id), 0) FROM stock
          WHERE plant_id >= $1 AND plant_id <= $1::bigint + of_plants.version) AS "assignedPlantId",
         (SELECT coalesce(max(refused_attempt), 0) FROM customers) AS "closeAttempt"
       FROM of_plants`,
      [firstAssignedId],
    ),
  );
}

function findAllStock(db: Reader, after: number, limit: number): Promise<KnownStock[]> {
  return db.query(
    `SELECT plant_id AS "plantId", incarnation, listing, listing_version AS "listingVersion"
     FROM stock WHERE plant_id > $1 ORDER BY plant_id LIMIT $2`,
    [after, limit],
  );
}

function findCustomers(db: Reader, after: string, limit: number): Promise<KnownCustomer[]> {
  return db.query(
    `SELECT user_id AS "userId", closed FROM customers WHERE user_id > $1 ORDER BY user_id LIMIT $2`,
    [after, limit],
  );
}

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

  stock({ after = 0, limit = 500 }: ListAllStock): Promise<KnownStock[]> {
    return findAllStock(this.database, after, limit);
  }

  customers({ after = noUser, limit = 500 }: ListCustomers): Promise<KnownCustomer[]> {
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

@Controller()
export class ReconcileController {
  constructor(private readonly reconcile: ReconcileService) {}

  @Answers(store.readHighestNumbers)
  readHighestNumbers(): Promise<HighestNumbers> {
    return this.reconcile.highestNumbers();
  }

  @Answers(store.listAllStock)
  listAllStock(page: ListAllStock): Promise<KnownStock[]> {
    return this.reconcile.stock(page);
  }

  @Answers(store.listCustomers)
  listCustomers(page: ListCustomers): Promise<KnownCustomer[]> {
    return this.reconcile.customers(page);
  }

  @Answers(store.reconcileOrders)
  reconcileOrders(page: ReconcileOrders): Promise<ReconciledPage<OrderFinding, number>> {
    return this.reconcile.orders(page);
  }
}
