import { Controller, Delete, Get, Header, Post, Put, Req, Res } from '@nestjs/common';
import { notifications } from '@plant-shop/contracts/notifications';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, pathId, pathText, queryText } from '../http/input.js';
import { jsonObject, Rule } from '../http/rule.js';
import { sendApiResponse, Services } from '../http/services.js';

@Controller('v3/webhooks')
export class WebhooksController {
  constructor(private readonly services: Services) {}

  @Post()
  @Header('cache-control', 'no-store')
  @Rule({ body: jsonObject('webhook') })
  createWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.createWebhook, {});
  }

  @Get()
  @Rule({ compressed: true })
  listWebhooks(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const page = pageOf(request);
    return this.services.passPage(request, reply, notifications.listWebhooks, page, page);
  }

  @Get(':webhookId')
  @Rule()
  getWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.getWebhook, { webhookId: pathText(request, 'webhookId') });
  }

  @Put(':webhookId')
  @Rule({ body: jsonObject('webhook'), conditional: true })
  replaceWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.replaceWebhook, { webhookId: pathText(request, 'webhookId') });
  }

  @Delete(':webhookId')
  @Rule({ conditional: true })
  async deleteWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { id } = await this.services.call(request, notifications.deleteWebhook, { webhookId: pathText(request, 'webhookId') });
    sendApiResponse(reply, id);
  }

  @Post(':webhookId/rotateSecret')
  @Header('cache-control', 'no-store')
  @Rule({ body: jsonObject('rotation') })
  rotateWebhookSecret(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.rotateWebhookSecret, { webhookId: pathText(request, 'webhookId') });
  }

  /** Takes no body: there is nothing more to say. */
  @Post(':webhookId/test')
  @Rule()
  testWebhook(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.testWebhook, { webhookId: pathText(request, 'webhookId') });
  }

  @Get(':webhookId/deliveries')
  @Rule({ compressed: true })
  listDeliveries(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const state = queryText(request, 'state');
    const query = { ...(state !== undefined && { state }), ...pageOf(request) };
    const parameters = { webhookId: pathText(request, 'webhookId'), ...query };
    return this.services.passPage(request, reply, notifications.listDeliveries, parameters, query);
  }

  /** Takes no body, as `testWebhook`. */
  @Post(':webhookId/deliveries/:deliveryId/resend')
  @Rule()
  resendDelivery(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.resendDelivery, {
      webhookId: pathText(request, 'webhookId'),
      deliveryId: pathId(request, 'deliveryId'),
    });
  }

  @Post(':webhookId/replay')
  @Rule({ body: jsonObject('replay') })
  replayEvents(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, notifications.replayEvents, { webhookId: pathText(request, 'webhookId') });
  }
}
