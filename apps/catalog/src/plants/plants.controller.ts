import { Controller } from '@nestjs/common';
import {
  catalog,
  type ChangePlant,
  type CreatePlant,
  type DeletePlant,
  type FindPlantsByStatus,
  type FindPlantsByTags,
  type GetPlant,
  type PatchPlant,
  type Plant,
  type ReplacePlant,
  type ResolvedPlants,
  type ResolvePlants,
} from '@plant-shop/contracts/catalog';
import type { Page, Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { PlantsService } from './plants.service.js';

@Controller()
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Answers(catalog.createPlant)
  createPlant({ plant }: CreatePlant, context: RpcContext): Promise<Versioned<Plant> | Replayed> {
    return this.plants.create(context, plant);
  }

  @Answers(catalog.replacePlant)
  replacePlant({ plant, ifVersion }: ReplacePlant, context: RpcContext): Promise<Versioned<Plant> | Replayed> {
    return this.plants.replace(context, plant, ifVersion);
  }

  @Answers(catalog.patchPlant)
  patchPlant(request: PatchPlant, context: RpcContext): Promise<Versioned<Plant> | Replayed> {
    return this.plants.patch(context, request);
  }

  @Answers(catalog.changePlant)
  changePlant(change: ChangePlant, context: RpcContext): Promise<Versioned<Plant> | Replayed> {
    return this.plants.change(context, change);
  }

  @Answers(catalog.getPlant)
  getPlant({ plantId }: GetPlant): Promise<Versioned<Plant>> {
    return this.plants.get(plantId);
  }

  @Answers(catalog.resolvePlants)
  resolvePlants({ plantIds }: ResolvePlants): Promise<ResolvedPlants> {
    return this.plants.resolve(plantIds);
  }

  @Answers(catalog.findPlantsByStatus)
  findPlantsByStatus({ status = ['available'], ...page }: FindPlantsByStatus): Promise<Page<Plant>> {
    return this.plants.find({ by: 'status', anyOf: status }, page);
  }

  @Answers(catalog.findPlantsByTags)
  findPlantsByTags({ tags, ...page }: FindPlantsByTags): Promise<Page<Plant>> {
    return this.plants.find({ by: 'tags', anyOf: tags }, page);
  }

  @Answers(catalog.deletePlant)
  deletePlant({ plantId, ifVersion }: DeletePlant, context: RpcContext): Promise<{ plantId: number }> {
    return this.plants.delete(context, plantId, ifVersion);
  }
}
