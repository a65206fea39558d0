import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { catalog, plantStatuses } from '@plant-shop/contracts/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { neededQueryList, pageOf, pathId, queryList, queryTexts } from '../http/input.js';
import { form, jsonObject, Rule } from '../http/rule.js';
import { sendApiResponse, Services } from '../http/services.js';
import { CachedReads } from '../reads/cached-reads.js';
import { Transfers } from '../transfer/transfers.js';

@Controller('v3/plant')
export class PlantsController {
  constructor(
    private readonly services: Services,
    private readonly reads: CachedReads,
    private readonly transfers: Transfers,
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

  @Get('search')
  @Rule({ compressed: true })
  searchPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { lists, texts } = filterOf(request);
    const page = { ...queryTexts(request, 'sort'), ...pageOf(request) };
    return this.reads.passPlants(request, reply, catalog.searchPlants, { ...texts, ...lists, ...page }, { ...texts, ...joined(lists), ...page });
  }

  @Get('facets')
  @Rule({ compressed: true })
  getPlantFacets(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { lists, texts } = filterOf(request);
    return this.reads.passPlants(request, reply, catalog.getPlantFacets, { ...texts, ...lists });
  }

  @Post('import')
  @Rule({ body: { kind: 'lines' }, patience: 3 })
  importPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.transfers.import(request, reply);
  }

  @Get('export')
  @Rule()
  exportPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.transfers.export(request, reply);
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

type Lists = Partial<Record<'status' | 'tags', readonly string[]>>;

/** The conditions of a search. */
function filterOf(request: FastifyRequest): { lists: Lists; texts: Partial<Record<'q' | 'category', string>> } {
  const status = queryList(request, 'status');
  const tags = queryList(request, 'tags');
  return { lists: { ...(status && { status }), ...(tags && { tags }) }, texts: queryTexts(request, 'q', 'category') };
}

const joined = ({ status, tags }: Lists): Partial<Record<'status' | 'tags', string>> => ({
  ...(status && { status: status.join() }),
  ...(tags && { tags: tags.join() }),
});
