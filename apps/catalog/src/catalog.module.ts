import { type DynamicModule, Module } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { auditControllerOf } from '@plant-shop/platform/patterns/audit-log';
import { IdempotentResultsSweeper } from '@plant-shop/platform/patterns/idempotent-results';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { CatalogVersionsController, CatalogVersionsService } from './catalog-versions/catalog-versions.js';
import { PlantChangesController, PlantChangesService, PlantChangesSweeper } from './changes/plant-changes.js';
import { CATALOG_OPTIONS, type CatalogConfig, catalogDatabase, type CatalogOptions, toOptions } from './config.js';
import { ImageStores } from './images/image-stores.js';
import { ImagesService, ImageSweeper } from './images/images.service.js';
import { ImagesController } from './images/images.controller.js';
import { PlantsController } from './plants/plants.controller.js';
import { PlantsService } from './plants/plants.service.js';
import { StockIntentsService } from './plants/stock-intents.service.js';
import { ReconcileController, ReconcileService } from './reconcile/reconcile.js';
import { SearchController, SearchService } from './search/search.service.js';
import { ExportService } from './transfer/export.service.js';
import { ImportService } from './transfer/import.service.js';
import { TransferController } from './transfer/transfer.controller.js';

@Module({})
class CatalogModule {
  static with(options: CatalogOptions): DynamicModule {
    return {
      module: CatalogModule,
      controllers: [PlantsController, SearchController, CatalogVersionsController, PlantChangesController, ImagesController, ReconcileController, auditControllerOf(catalog.readAudit), TransferController],
      providers: [
        { provide: CATALOG_OPTIONS, useValue: options },
        PlantsService,
        SearchService,
        CatalogVersionsService,
        PlantChangesService,
        PlantChangesSweeper,
        StockIntentsService,
        ImagesService,
        ImageStores,
        ImageSweeper,
        ReconcileService,
        ImportService,
        ExportService,
        IdempotentResultsSweeper,
      ],
    };
  }
}

export async function startCatalog(service: Service, config: Omit<CatalogConfig, keyof ServiceConfig>): Promise<void> {
  await service.useDatabase(catalogDatabase(config, config.databasePoolSize));
  await service.answer(CatalogModule.with(toOptions(config)), { maxInFlight: config.maxInFlight });
}
