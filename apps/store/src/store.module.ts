import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import { auditControllerOf } from '@plant-shop/platform/patterns/audit-log';
import { IdempotentResultsSweeper } from '@plant-shop/platform/patterns/idempotent-results';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { DueOrdersLoop, DueOrdersService, SetAsideGauge } from './checkout/due-orders.service.js';
import { STORE_OPTIONS, type StoreConfig, storeDatabase, type StoreOptions, toOptions } from './config.js';
import { CustomersController, CustomersService } from './customers/customers.js';
import { FeedController, OrderFeed } from './feed/order-feed.js';
import { OrderArchive } from './orders/order-archive.js';
import { OrderCounter } from './orders/order-counts.js';
import { BasketsController, BasketsService } from './orders/baskets.service.js';
import { OrderReads, OrderReadsController } from './orders/order-reads.service.js';
import { StaffCancellationsController, StaffCancellationsService } from './cancellations/staff-cancellations.js';
import { OrdersController, OrdersService } from './orders/orders.service.js';
import { TimelineController, TimelineService } from './orders/timeline.js';
import { PaymentsController, PaymentsService } from './payments/payments.service.js';
import { ReconcileController, ReconcileService } from './reconcile/reconcile.js';
import { RefundsController, RefundsDueGauge, RefundsService } from './refunds/refunds.js';
import { SandboxController, SandboxService } from './sandbox/sandbox.js';
import { TestPayments } from './sandbox/test-payments.js';
import { ShipmentsController, ShipmentsService } from './shipments/shipments.js';
import { AvailabilityController } from './stock/availability.js';
import { StockChangesController } from './stock/stock-changes.js';
import { InventoryCompactor, StockService } from './stock/stock.service.js';
import { StockController } from './stock/stock.controller.js';

@Module({})
class StoreModule {
  static with(options: StoreOptions): DynamicModule {
    return {
      module: StoreModule,
      controllers: [FeedController, OrdersController, OrderReadsController, BasketsController, TimelineController, StaffCancellationsController, PaymentsController, RefundsController, ShipmentsController, StockController, StockChangesController, AvailabilityController, CustomersController, ReconcileController, auditControllerOf(store.readAudit), ...(options.sandbox ? [SandboxController] : [])],
      providers: [
        { provide: STORE_OPTIONS, useValue: options },
        OrderFeed,
        OrdersService,
        OrderReads,
        OrderCounter,
        ...(options.archiveAfterDays > 0 ? [OrderArchive] : []),
        TimelineService,
        BasketsService,
        StaffCancellationsService,
        PaymentsService,
        RefundsService,
        RefundsDueGauge,
        ShipmentsService,
        StockService,
        CustomersService,
        ReconcileService,
        ...(options.sandbox ? [{ provide: DueOrdersService, useClass: TestPayments }, SandboxService] : [DueOrdersService]),
        DueOrdersLoop,
        SetAsideGauge,
        InventoryCompactor,
        IdempotentResultsSweeper,
      ],
    };
  }
}

/** Returns the running app. */
export async function startStore(service: Service, config: Omit<StoreConfig, keyof ServiceConfig>): Promise<INestApplicationContext> {
  await service.useDatabase(storeDatabase(config, config.databasePoolSize));
  const app = await service.answer(StoreModule.with(toOptions(config)), { maxInFlight: config.maxInFlight });
  const orders = app.get(OrdersService);
  const payments = app.get(PaymentsService);
  gauge(service.metrics, 'store_orders_waiting', 'Orders that wait for a batch', () => orders.waiting);
  gauge(service.metrics, 'store_payments_waiting', 'Payment reports that wait for a batch', () => payments.waiting);
  return app;
}
