import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathId } from '../http/input.js';
import { jsonObject, Rule } from '../http/rule.js';
import { Services } from '../http/services.js';

@Controller('v3/store')
export class StoreController {
  constructor(private readonly services: Services) {}

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

  @Delete('order/:orderId')
  @Rule()
  cancelOrder(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.cancelOrder, { orderId: pathId(request, 'orderId') });
  }

  @Get('inventory')
  @Rule()
  readInventory(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.readInventory, {});
  }

  @Get('inventory/:plantId')
  @Rule()
  getStock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.getStock, { plantId: pathId(request, 'plantId') });
  }

  @Put('inventory/:plantId')
  @Rule({ body: jsonObject('stock') })
  setStock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, store.setStock, { plantId: pathId(request, 'plantId') });
  }
}
