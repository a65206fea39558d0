import { Controller, Delete, Get, Post, Put, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, pathText, queryTexts } from '../http/input.js';
import { jsonArray, jsonObject, Route } from '../http/route.js';
import { sendApiResponse, RpcForwarder } from '../http/rpc-forwarder.js';

@Controller('v3/user')
export class UsersController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Post()
  @Route({ body: jsonObject('user') })
  createUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.createUser, {});
  }

  @Get()
  @Route({ compressed: true })
  listUsers(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = { ...queryTexts(request, 'q', 'role'), ...pageOf(request) };
    return this.forwarder.forwardPage(request, reply, identity.listUsers, query, query);
  }

  @Post('createWithList')
  @Route({ body: jsonArray('users'), budgetFactor: 3 })
  createUsers(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.createUsers, {});
  }

  @Get(':username')
  @Route()
  getUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.getUser, { username: pathText(request, 'username') });
  }

  @Put(':username')
  @Route({ body: jsonObject('user'), revokes: true, conditional: true })
  updateUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.updateUser, {
      username: pathText(request, 'username'),
      ownSession: request.caller?.sessionDigest,
    });
  }

  @Put(':username/role')
  @Route({ body: jsonObject('assignment'), revokes: true, conditional: true })
  setUserRole(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.setUserRole, { username: pathText(request, 'username') });
  }

  @Delete(':username')
  @Route({ revokes: true, conditional: true })
  async deleteUser(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { username } = await this.forwarder.call(request, identity.deleteUser, { username: pathText(request, 'username') });
    sendApiResponse(reply, username);
  }
}
