import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, pathText, queryTexts } from '../http/input.js';
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

  @Get()
  @Rule({ compressed: true })
  listUsers(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = { ...queryTexts(request, 'q', 'role'), ...pageOf(request) };
    return this.services.passPage(request, reply, identity.listUsers, query, query);
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

  @Put(':username/role')
  @Rule({ body: jsonObject('assignment'), revokes: true, conditional: true })
  setUserRole(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.setUserRole, { username: pathText(request, 'username') });
  }

  @Delete(':username')
  @Rule({ revokes: true, conditional: true })
  async deleteUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { username } = await this.services.call(request, identity.deleteUser, { username: pathText(request, 'username') });
    sendApiResponse(reply, username);
  }
}
