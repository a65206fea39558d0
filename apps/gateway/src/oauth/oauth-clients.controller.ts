import { Controller, Delete, Get, Header, Post, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { jsonObject, Route } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';

@Controller('v3/oauth/clients')
export class OAuthClientsController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Post()
  @Header('cache-control', 'no-store')
  @Route({ body: jsonObject('client') })
  createOAuthClient(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.createOAuthClient, {});
  }

  @Get()
  @Route()
  listOAuthClients(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.listOAuthClients, {});
  }

  @Get(':clientId')
  @Route()
  getOAuthClient(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.getOAuthClient, { clientId: pathText(request, 'clientId') });
  }

  @Delete(':clientId')
  @Route({ revokes: true })
  deleteOAuthClient(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.deleteOAuthClient, { clientId: pathText(request, 'clientId') });
  }

  @Post(':clientId/rotateSecret')
  @Header('cache-control', 'no-store')
  @Route({ revokes: true })
  rotateOAuthClientSecret(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.rotateOAuthClientSecret, { clientId: pathText(request, 'clientId') });
  }
}
