import { Controller, Delete, Get, Header, Post, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { jsonObject, Rule } from '../http/rule.js';
import { Services } from '../http/services.js';

@Controller('v3/user/:username/apiKeys')
export class ApiKeysController {
  constructor(private readonly services: Services) {}

  @Post()
  @Header('cache-control', 'no-store')
  @Rule({ body: jsonObject('apiKey') })
  createApiKey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.createApiKey, { username: pathText(request, 'username') });
  }

  @Get()
  @Rule()
  listApiKeys(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.listApiKeys, { username: pathText(request, 'username') });
  }

  @Delete(':apiKeyId')
  @Rule({ revokes: true })
  revokeApiKey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.revokeApiKey, {
      username: pathText(request, 'username'),
      apiKeyId: pathText(request, 'apiKeyId'),
    });
  }

  /** A successor beside the old key, which ends after a grace. */
  @Post(':apiKeyId/rotation')
  @Header('cache-control', 'no-store')
  @Rule({ body: jsonObject('rotation'), revokes: true })
  rotateApiKey(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.rotateApiKey, {
      username: pathText(request, 'username'),
      apiKeyId: pathText(request, 'apiKeyId'),
    });
  }
}
