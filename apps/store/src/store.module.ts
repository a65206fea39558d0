import { type DynamicModule, Module } from '@nestjs/common';
import { AnswersSweeper } from '@plant-shop/platform/idempotency/answers-sweeper';
import { AuditController } from './audit/audit.controller.js';
import { DueOrdersLoop } from './checkout/due-orders.loop.js';
import { DueOrdersService } from './checkout/due-orders.service.js';
import { SetAsideGauge } from './checkout/set-aside.gauge.js';
import { CustomersController } from './customers/customers.controller.js';
import { CustomersService } from './customers/customers.service.js';
import { FeedController } from './feed/feed.controller.js';
import { OrderFeed } from './feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from './options.js';
import { OrdersController } from './orders/orders.controller.js';
import { OrdersService } from './orders/orders.service.js';
import { PaymentsController } from './payments/payments.controller.js';
import { PaymentsService } from './payments/payments.service.js';
import { ReconcileController } from './reconcile/reconcile.controller.js';
import { ReconcileService } from './reconcile/reconcile.service.js';
import { RefundsController } from './refunds/refunds.controller.js';
import { RefundsDueGauge } from './refunds/refunds-due.gauge.js';
import { RefundsService } from './refunds/refunds.service.js';
import { ShipmentsController } from './shipments/shipments.controller.js';
import { ShipmentsService } from './shipments/shipments.service.js';
import { InventoryCompactor } from './stock/inventory-compactor.js';
import { StockController } from './stock/stock.controller.js';
import { StockService } from './stock/stock.service.js';

@Module({})
export class StoreModule {
  static with(options: StoreOptions): DynamicModule {
    return {
      module: StoreModule,
      controllers: [FeedController, OrdersController, PaymentsController, RefundsController, ShipmentsController, StockController, CustomersController, ReconcileController, AuditController],
      providers: [
        { provide: STORE_OPTIONS, useValue: options },
        OrderFeed,
        OrdersService,
        PaymentsService,
        RefundsService,
        RefundsDueGauge,
        ShipmentsService,
        StockService,
        CustomersService,
        ReconcileService,
        DueOrdersService,
        DueOrdersLoop,
        SetAsideGauge,
        InventoryCompactor,
        AnswersSweeper,
      ],
    };
  }
}
