import { Controller, Delete, Get, Header, Post, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { jsonObject, Route } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';

@Controller('v3/user/:username/apiKeys')
export class ApiKeysController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Post()
  @Header('cache-control', 'no-store')
  @Route({ body: jsonObject('apiKey') })
  createApiKey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.createApiKey, { username: pathText(request, 'username') });
  }

  @Get()
  @Route()
  listApiKeys(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.listApiKeys, { username: pathText(request, 'username') });
  }

  @Delete(':apiKeyId')
  @Route({ revokes: true })
  revokeApiKey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.revokeApiKey, {
      username: pathText(request, 'username'),
      apiKeyId: pathText(request, 'apiKeyId'),
    });
  }

  /** Creates a successor; the old key stays valid for a grace period. */
  @Post(':apiKeyId/rotation')
  @Header('cache-control', 'no-store')
  @Route({ body: jsonObject('rotation'), revokes: true })
  rotateApiKey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.rotateApiKey, {
      username: pathText(request, 'username'),
      apiKeyId: pathText(request, 'apiKeyId'),
    });
  }
}
