import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { CatalogModule } from './catalog.module.js';
import { type CatalogConfig, toOptions } from './config.js';
import { catalogDatabase } from './database.js';

export async function startCatalog(service: Service, config: Omit<CatalogConfig, keyof ServiceConfig>): Promise<void> {
  await service.useDatabase(catalogDatabase(config, config.databasePoolSize));
  await service.answer(CatalogModule.with(toOptions(config)), { maxInFlight: config.maxInFlight });
}
