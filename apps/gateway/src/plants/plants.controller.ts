import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { catalog, plantStatuses } from '@plant-shop/contracts/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requiredQueryList, pageOf, pathId, queryList, queryTexts } from '../http/input.js';
import { form, jsonObject, Route } from '../http/route.js';
import { sendApiResponse, RpcForwarder } from '../http/rpc-forwarder.js';
import { CachedReads } from '../reads/cached-reads.js';
import { Transfers } from '../transfer/transfers.js';

@Controller('v3/plant')
export class PlantsController {
  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly reads: CachedReads,
    private readonly transfers: Transfers,
  ) {}

  @Post()
  @Route({ body: jsonObject('plant') })
  createPlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, catalog.createPlant, {});
  }

  @Put()
  @Route({ body: jsonObject('plant'), conditional: true })
  replacePlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, catalog.replacePlant, {});
  }

  @Get('findByStatus')
  @Route({ compressed: true })
  findPlantsByStatus(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const status = requiredQueryList(request, 'status', `must be one or more of ${plantStatuses.join(', ')}`);
    const page = pageOf(request);
    return this.reads.sendPlants(request, reply, catalog.findPlantsByStatus, { status, ...page }, { status: status.join(), ...page });
  }

  @Get('findByTags')
  @Route({ compressed: true })
  findPlantsByTags(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tags = requiredQueryList(request, 'tags', 'must be one or more names of tags');
    const page = pageOf(request);
    return this.reads.sendPlants(request, reply, catalog.findPlantsByTags, { tags, ...page }, { tags: tags.join(), ...page });
  }

  @Get('search')
  @Route({ compressed: true })
  searchPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { lists, texts } = filterOf(request);
    const page = { ...queryTexts(request, 'sort'), ...pageOf(request) };
    return this.reads.sendPlants(request, reply, catalog.searchPlants, { ...texts, ...lists, ...page }, { ...texts, ...joined(lists), ...page });
  }

  @Get('facets')
  @Route({ compressed: true })
  getPlantFacets(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { lists, texts } = filterOf(request);
    return this.reads.sendPlants(request, reply, catalog.getPlantFacets, { ...texts, ...lists });
  }

  @Post('import')
  @Route({ body: { kind: 'lines' }, budgetFactor: 3 })
  importPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.transfers.import(request, reply);
  }

  @Get('export')
  @Route()
  exportPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.transfers.export(request, reply);
  }

  @Get(':plantId')
  @Route()
  getPlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.sendPlants(request, reply, catalog.getPlant, { plantId: pathId(request, 'plantId') });
  }

  @Post(':plantId')
  @Route({ body: form('name', 'status'), conditional: true })
  changePlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, catalog.changePlant, { plantId: pathId(request, 'plantId') });
  }

  @Delete(':plantId')
  @Route({ conditional: true })
  async deletePlant(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { plantId } = await this.forwarder.call(request, catalog.deletePlant, { plantId: pathId(request, 'plantId') });
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
