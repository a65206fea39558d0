import { Controller } from '@nestjs/common';
import { catalog, type GetPlantFacets, type Plant, type PlantFacets, type SearchPlants } from '@plant-shop/contracts/catalog';
import type { Page } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { SearchService } from './search.service.js';

@Controller()
export class SearchController {
  constructor(private readonly plants: SearchService) {}

  @Answers(catalog.searchPlants)
  searchPlants(search: SearchPlants): Promise<Page<Plant>> {
    return this.plants.search(search);
  }

  @Answers(catalog.getPlantFacets)
  getPlantFacets(filter: GetPlantFacets): Promise<PlantFacets> {
    return this.plants.facets(filter);
  }
}
