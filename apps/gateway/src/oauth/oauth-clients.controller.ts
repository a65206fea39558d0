import { Controller, Delete, Get, Header, Post, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { jsonObject, Rule } from '../http/rule.js';
import { Services } from '../http/services.js';

@Controller('v3/oauth/clients')
export class OAuthClientsController {
  constructor(private readonly services: Services) {}

  @Post()
  @Header('cache-control', 'no-store')
  @Rule({ body: jsonObject('client') })
  createOAuthClient(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.createOAuthClient, {});
  }

  @Get()
  @Rule()
  listOAuthClients(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.listOAuthClients, {});
  }

  @Get(':clientId')
  @Rule()
  getOAuthClient(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.getOAuthClient, { clientId: pathText(request, 'clientId') });
  }

  @Delete(':clientId')
  @Rule({ revokes: true })
  deleteOAuthClient(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.deleteOAuthClient, { clientId: pathText(request, 'clientId') });
  }

  @Post(':clientId/rotateSecret')
  @Header('cache-control', 'no-store')
  @Rule({ revokes: true })
  rotateOAuthClientSecret(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.rotateOAuthClientSecret, { clientId: pathText(request, 'clientId') });
  }
}
