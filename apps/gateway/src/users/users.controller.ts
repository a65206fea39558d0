import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { jsonArray, jsonObject, Rule } from '../http/rule.js';
import { sendApiResponse, Services } from '../http/services.js';

@Controller('v3/user')
export class UsersController {
  constructor(private readonly services: Services) {}

  @Post()
  @Rule({ body: jsonObject('user') })
  createUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.createUser, {});
  }

  @Post('createWithList')
  @Rule({ body: jsonArray('users'), patience: 3 })
  createUsers(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.createUsers, {});
  }

  @Get(':username')
  @Rule()
  getUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.getUser, { username: pathText(request, 'username') });
  }

  @Put(':username')
  @Rule({ body: jsonObject('user'), revokes: true, conditional: true })
  updateUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.updateUser, {
      username: pathText(request, 'username'),
      ownSession: request.caller?.sessionDigest,
    });
  }

  @Delete(':username')
  @Rule({ revokes: true, conditional: true })
  async deleteUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { username } = await this.services.call(request, identity.deleteUser, { username: pathText(request, 'username') });
    sendApiResponse(reply, username);
  }
}
