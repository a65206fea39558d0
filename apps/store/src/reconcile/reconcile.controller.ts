import { Controller } from '@nestjs/common';
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
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { ReconcileService } from './reconcile.service.js';

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
