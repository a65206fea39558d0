import { Controller, Req, Res } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, queryId, queryList, queryTexts } from '../http/input.js';
import { Serves } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';

@Controller()
export class StoreController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Serves(store.listOrders.client)
  listOrders(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const status = queryList(request, 'status');
    const plantId = queryId(request, 'plantId');
    const query = {
      ...(plantId !== undefined && { plantId }),
      ...queryTexts(request, 'owner', 'placedFrom', 'placedBefore'),
      ...pageOf(request),
    };
    // A store of the previous release accepts only one status, as a string.
    const wanted = { ...query, ...(status && { status: status.length === 1 ? status[0] : status }) };
    return this.forwarder.forwardPage(request, reply, store.listOrders, wanted, { ...query, status: status?.join() });
  }
}
