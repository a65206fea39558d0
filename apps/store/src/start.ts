import type { INestApplicationContext } from '@nestjs/common';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { type StoreConfig, toOptions } from './config.js';
import { storeDatabase } from './database.js';
import { OrdersService } from './orders/orders.service.js';
import { PaymentsService } from './payments/payments.service.js';
import { StoreModule } from './store.module.js';

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
