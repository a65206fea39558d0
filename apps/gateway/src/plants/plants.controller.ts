import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { catalog, plantStatuses } from '@plant-shop/contracts/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { neededQueryList, pageOf, pathId } from '../http/input.js';
import { form, jsonObject, Rule } from '../http/rule.js';
import { sendApiResponse, Services } from '../http/services.js';
import { CachedReads } from '../reads/cached-reads.js';

@Controller('v3/plant')
export class PlantsController {
  constructor(
    private readonly services: Services,
    private readonly reads: CachedReads,
  ) {}

  @Post()
  @Rule({ body: jsonObject('plant') })
  createPlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, catalog.createPlant, {});
  }

  @Put()
  @Rule({ body: jsonObject('plant'), conditional: true })
  replacePlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, catalog.replacePlant, {});
  }

  @Get('findByStatus')
  @Rule({ compressed: true })
  findPlantsByStatus(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const status = neededQueryList(request, 'status', `must be one or more of ${plantStatuses.join(', ')}`);
    const page = pageOf(request);
    return this.reads.passPlants(request, reply, catalog.findPlantsByStatus, { status, ...page }, { status: status.join(), ...page });
  }

  @Get('findByTags')
  @Rule({ compressed: true })
  findPlantsByTags(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tags = neededQueryList(request, 'tags', 'must be one or more names of tags');
    const page = pageOf(request);
    return this.reads.passPlants(request, reply, catalog.findPlantsByTags, { tags, ...page }, { tags: tags.join(), ...page });
  }

  @Get(':plantId')
  @Rule()
  getPlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.passPlants(request, reply, catalog.getPlant, { plantId: pathId(request, 'plantId') });
  }

  @Post(':plantId')
  @Rule({ body: form('name', 'status'), conditional: true })
  changePlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, catalog.changePlant, { plantId: pathId(request, 'plantId') });
  }

  @Delete(':plantId')
  @Rule({ conditional: true })
  async deletePlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { plantId } = await this.services.call(request, catalog.deletePlant, { plantId: pathId(request, 'plantId') });
    sendApiResponse(reply, String(plantId));
  }
}
