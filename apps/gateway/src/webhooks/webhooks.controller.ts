import { Controller, Delete, Get, Header, Post, Put, Req, Res } from '@nestjs/common';
import { notifications } from '@plant-shop/contracts/notifications';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, pathId, pathText, queryText } from '../http/input.js';
import { jsonObject, Route } from '../http/route.js';
import { sendApiResponse, RpcForwarder } from '../http/rpc-forwarder.js';

@Controller('v3/webhooks')
export class WebhooksController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Post()
  @Header('cache-control', 'no-store')
  @Route({ body: jsonObject('webhook') })
  createWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.createWebhook, {});
  }

  @Get()
  @Route({ compressed: true })
  listWebhooks(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const page = pageOf(request);
    return this.forwarder.forwardPage(request, reply, notifications.listWebhooks, page, page);
  }

  @Get(':webhookId')
  @Route()
  getWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.getWebhook, { webhookId: pathText(request, 'webhookId') });
  }

  @Put(':webhookId')
  @Route({ body: jsonObject('webhook'), conditional: true })
  replaceWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.replaceWebhook, { webhookId: pathText(request, 'webhookId') });
  }

  @Delete(':webhookId')
  @Route({ conditional: true })
  async deleteWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { id } = await this.forwarder.call(request, notifications.deleteWebhook, { webhookId: pathText(request, 'webhookId') });
    sendApiResponse(reply, id);
  }

  @Post(':webhookId/rotateSecret')
  @Header('cache-control', 'no-store')
  @Route({ body: jsonObject('rotation') })
  rotateWebhookSecret(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.rotateWebhookSecret, { webhookId: pathText(request, 'webhookId') });
  }

  /** Has no body. */
  @Post(':webhookId/test')
  @Route()
  testWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.testWebhook, { webhookId: pathText(request, 'webhookId') });
  }

  @Get(':webhookId/deliveries')
  @Route({ compressed: true })
  listDeliveries(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const state = queryText(request, 'state');
    const query = { ...(state !== undefined && { state }), ...pageOf(request) };
    const parameters = { webhookId: pathText(request, 'webhookId'), ...query };
    return this.forwarder.forwardPage(request, reply, notifications.listDeliveries, parameters, query);
  }

  /** Has no body. */
  @Post(':webhookId/deliveries/:deliveryId/resend')
  @Route()
  resendDelivery(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.resendDelivery, {
      webhookId: pathText(request, 'webhookId'),
      deliveryId: pathId(request, 'deliveryId'),
    });
  }

  @Post(':webhookId/replay')
  @Route({ body: jsonObject('replay') })
  replayEvents(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, notifications.replayEvents, { webhookId: pathText(request, 'webhookId') });
  }
}
