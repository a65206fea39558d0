import { Controller } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { CatalogVersionsService } from './catalog-versions.service.js';

@Controller()
export class CatalogVersionsController {
  constructor(private readonly versions: CatalogVersionsService) {}

  @Answers(catalog.readStamps)
  readStamps(): Promise<readonly string[]> {
    return this.versions.current();
  }
}
