import { type DynamicModule, Module } from '@nestjs/common';
import { AnswersSweeper } from '@plant-shop/platform/idempotency/answers-sweeper';
import { AuditController } from './audit/audit.controller.js';
import { ImageStores } from './images/image-stores.js';
import { ImageSweeper } from './images/image-sweeper.js';
import { ImagesController } from './images/images.controller.js';
import { ImagesService } from './images/images.service.js';
import { CATALOG_OPTIONS, type CatalogOptions } from './options.js';
import { PlantsController } from './plants/plants.controller.js';
import { PlantsService } from './plants/plants.service.js';
import { ReconcileController } from './reconcile/reconcile.controller.js';
import { ReconcileService } from './reconcile/reconcile.service.js';
import { StampsController } from './stamps/stamps.controller.js';
import { StampsService } from './stamps/stamps.service.js';
import { StockIntentsLoop } from './stock/stock-intents.loop.js';
import { StockIntentsService } from './stock/stock-intents.service.js';

@Module({})
export class CatalogModule {
  static with(options: CatalogOptions): DynamicModule {
    return {
      module: CatalogModule,
      controllers: [PlantsController, StampsController, ImagesController, ReconcileController, AuditController],
      providers: [
        { provide: CATALOG_OPTIONS, useValue: options },
        PlantsService,
        StampsService,
        StockIntentsService,
        StockIntentsLoop,
        ImagesService,
        ImageStores,
        ImageSweeper,
        ReconcileService,
        AnswersSweeper,
      ],
    };
  }
}
