import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, pathId, queryId, queryList, queryTexts } from '../http/input.js';
import { jsonObject, Rule } from '../http/rule.js';
import { Services } from '../http/services.js';
import { CachedReads } from '../reads/cached-reads.js';

@Controller('v3/store')
export class StoreController {
  constructor(
    private readonly services: Services,
    private readonly reads: CachedReads,
  ) {}

  @Post('order')
  @Rule({ body: jsonObject('order') })
  placeOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.placeOrder, {});
  }

  @Get('order/:orderId')
  @Rule()
  getOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.getOrder, { orderId: pathId(request, 'orderId') });
  }

  @Get('order')
  @Rule({ compressed: true })
  listOrders(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const status = queryList(request, 'status');
    const plantId = queryId(request, 'plantId');
    const query = {
      ...(plantId !== undefined && { plantId }),
      ...queryTexts(request, 'owner', 'placedFrom', 'placedBefore'),
      ...pageOf(request),
    };
    // A store of the release before takes one status as text.
    const wanted = { ...query, ...(status && { status: status.length === 1 ? status[0] : status }) };
    return this.services.passPage(request, reply, store.listOrders, wanted, { ...query, status: status?.join() });
  }

  @Get('order/:orderId/timeline')
  @Rule()
  getTimeline(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.getTimeline, { orderId: pathId(request, 'orderId') });
  }

  @Post('order/:orderId/transfer')
  @Rule({ body: jsonObject('transfer'), conditional: true })
  transferOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.transferOrder, { orderId: pathId(request, 'orderId') });
  }

  @Post('order/:orderId/payment')
  @Rule({ body: jsonObject('payment') })
  reportPayment(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.reportPayment, { orderId: pathId(request, 'orderId') });
  }

  @Get('refund')
  @Rule({ compressed: true })
  listRefunds(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = { ...queryTexts(request, 'status'), ...pageOf(request) };
    return this.services.passPage(request, reply, store.listRefunds, query, query);
  }

  @Get('refund/:refundId')
  @Rule()
  getRefund(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.getRefund, { refundId: pathId(request, 'refundId') });
  }

  @Post('refund/:refundId/completion')
  @Rule({ body: jsonObject('completion') })
  completeRefund(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.completeRefund, { refundId: pathId(request, 'refundId') });
  }

  @Post('order/:orderId/shipment')
  @Rule({ body: jsonObject('shipment'), conditional: true })
  shipOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.shipOrder, { orderId: pathId(request, 'orderId') });
  }

  /** Takes no body: there is nothing more to say. */
  @Post('order/:orderId/delivery')
  @Rule({ conditional: true })
  deliverOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.deliverOrder, { orderId: pathId(request, 'orderId') });
  }

  @Delete('order/:orderId')
  @Rule({ conditional: true })
  cancelOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.cancelOrder, { orderId: pathId(request, 'orderId') });
  }

  @Get('inventory')
  @Rule()
  readInventory(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.passInventory(request, reply);
  }

  @Get('inventory/:plantId')
  @Rule()
  getStock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.getStock, { plantId: pathId(request, 'plantId') });
  }

  @Put('inventory/:plantId')
  @Rule({ body: jsonObject('stock'), conditional: true })
  setStock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.setStock, { plantId: pathId(request, 'plantId') });
  }
}
