import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, pathId, queryId, queryList, queryTexts } from '../http/input.js';
import { jsonObject, Route } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';
import { CachedReads } from '../reads/cached-reads.js';

@Controller('v3/store')
export class StoreController {
  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly reads: CachedReads,
  ) {}

  @Post('order')
  @Route({ body: jsonObject('order') })
  placeOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.placeOrder, {});
  }

  @Get('order/:orderId')
  @Route()
  getOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.getOrder, { orderId: pathId(request, 'orderId') });
  }

  @Get('order')
  @Route({ compressed: true })
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

  @Get('order/:orderId/timeline')
  @Route()
  getTimeline(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.getTimeline, { orderId: pathId(request, 'orderId') });
  }

  @Post('order/:orderId/transfer')
  @Route({ body: jsonObject('transfer'), conditional: true })
  transferOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.transferOrder, { orderId: pathId(request, 'orderId') });
  }

  @Post('order/:orderId/payment')
  @Route({ body: jsonObject('payment') })
  reportPayment(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.reportPayment, { orderId: pathId(request, 'orderId') });
  }

  @Get('refund')
  @Route({ compressed: true })
  listRefunds(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = { ...queryTexts(request, 'status'), ...pageOf(request) };
    return this.forwarder.forwardPage(request, reply, store.listRefunds, query, query);
  }

  @Get('refund/:refundId')
  @Route()
  getRefund(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.getRefund, { refundId: pathId(request, 'refundId') });
  }

  @Post('refund/:refundId/completion')
  @Route({ body: jsonObject('completion') })
  completeRefund(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.completeRefund, { refundId: pathId(request, 'refundId') });
  }

  @Post('order/:orderId/shipment')
  @Route({ body: jsonObject('shipment'), conditional: true })
  shipOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.shipOrder, { orderId: pathId(request, 'orderId') });
  }

  /** Has no body. */
  @Post('order/:orderId/delivery')
  @Route({ conditional: true })
  deliverOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.deliverOrder, { orderId: pathId(request, 'orderId') });
  }

  @Delete('order/:orderId')
  @Route({ conditional: true })
  cancelOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.cancelOrder, { orderId: pathId(request, 'orderId') });
  }

  @Get('inventory')
  @Route()
  readInventory(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.sendInventory(request, reply);
  }

  @Get('inventory/:plantId')
  @Route()
  getStock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.getStock, { plantId: pathId(request, 'plantId') });
  }

  @Put('inventory/:plantId')
  @Route({ body: jsonObject('stock'), conditional: true })
  setStock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, store.setStock, { plantId: pathId(request, 'plantId') });
  }
}
