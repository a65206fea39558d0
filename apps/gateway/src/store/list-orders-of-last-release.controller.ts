import { Controller, Req, Res } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, queryId, queryList, queryTexts } from '../http/input.js';
import { Serves } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';

/**
 * Lists orders also with a store of the last release, which accepts only one status, as a string. Once no such store can run,
 * `ForwardedOperations` serves the operation without a handler.
 */
@Controller()
export class ListOrdersOfLastReleaseController {
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
    const wanted = { ...query, ...(status && { status: status.length === 1 ? status[0] : status }) };
    return this.forwarder.forwardPage(request, reply, store.listOrders, wanted, { ...query, status: status?.join() });
  }
}
