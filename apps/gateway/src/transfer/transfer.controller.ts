import { Controller, Req, Res } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Serves } from '../http/route.js';
import { Transfers } from './transfers.js';

/** Imports and exports, which are streams. */
@Controller()
export class TransferController {
  constructor(private readonly transfers: Transfers) {}

  @Serves(catalog.importPlants.client)
  importPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.transfers.import(request, reply);
  }

  @Serves(catalog.beginExport.client)
  exportPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.transfers.export(request, reply);
  }
}
