import { Controller, Delete, Get, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { Route } from '../http/route.js';
import { sendApiResponse, RpcForwarder } from '../http/rpc-forwarder.js';

/** All open sessions of a user, on any device. */
@Controller('v3/user/:username/sessions')
export class OpenSessionsController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Get()
  @Route()
  listSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.forwarder.forward(request, reply, identity.listSessions, {
      username: pathText(request, 'username'),
      ownSession: request.caller?.sessionDigest,
    });
  }

  @Delete(':sessionId')
  @Route({ revokes: true })
  async endSession(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ended } = await this.forwarder.call(request, identity.endSession, {
      username: pathText(request, 'username'),
      sessionId: pathText(request, 'sessionId'),
    });
    sendApiResponse(reply, ended);
  }

  /** Logs the user out everywhere. */
  @Delete()
  @Route({ revokes: true })
  async endSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ended } = await this.forwarder.call(request, identity.endSessions, { username: pathText(request, 'username') });
    sendApiResponse(reply, String(ended));
  }
}
