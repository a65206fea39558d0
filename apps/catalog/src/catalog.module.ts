import { type DynamicModule, Module } from '@nestjs/common';
import { AnswersSweeper } from '@plant-shop/platform/idempotency/answers-sweeper';
import { AuditController } from './audit/audit.controller.js';
import { CatalogVersionsController } from './catalog-versions/catalog-versions.controller.js';
import { CatalogVersionsService } from './catalog-versions/catalog-versions.service.js';
import { ImageStores } from './images/image-stores.js';
import { ImageSweeper } from './images/image-sweeper.js';
import { ImagesController } from './images/images.controller.js';
import { ImagesService } from './images/images.service.js';
import { CATALOG_OPTIONS, type CatalogOptions } from './options.js';
import { PlantsController } from './plants/plants.controller.js';
import { PlantsService } from './plants/plants.service.js';
import { ReconcileController } from './reconcile/reconcile.controller.js';
import { ReconcileService } from './reconcile/reconcile.service.js';
import { SearchController } from './search/search.controller.js';
import { SearchService } from './search/search.service.js';
import { StockIntentsService } from './plants/stock-intents.service.js';
import { ExportService } from './transfer/export.service.js';
import { ImportService } from './transfer/import.service.js';
import { TransferController } from './transfer/transfer.controller.js';

@Module({})
export class CatalogModule {
  static with(options: CatalogOptions): DynamicModule {
    return {
      module: CatalogModule,
      controllers: [PlantsController, SearchController, CatalogVersionsController, ImagesController, ReconcileController, AuditController, TransferController],
      providers: [
        { provide: CATALOG_OPTIONS, useValue: options },
        PlantsService,
        SearchService,
        CatalogVersionsService,
        StockIntentsService,
        ImagesService,
        ImageStores,
        ImageSweeper,
        ReconcileService,
        ImportService,
        ExportService,
        AnswersSweeper,
      ],
    };
  }
}
