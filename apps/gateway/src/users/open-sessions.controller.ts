import { Controller, Delete, Get, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { Rule } from '../http/rule.js';
import { sendApiResponse, Services } from '../http/services.js';

/** Sessions that a user has open, wherever they were begun. */
@Controller('v3/user/:username/sessions')
export class OpenSessionsController {
  constructor(private readonly services: Services) {}

  @Get()
  @Rule()
  listSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.services.pass(request, reply, identity.listSessions, {
      username: pathText(request, 'username'),
      ownSession: request.caller?.sessionDigest,
    });
  }

  @Delete(':sessionId')
  @Rule({ revokes: true })
  async endSession(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ended } = await this.services.call(request, identity.endSession, {
      username: pathText(request, 'username'),
      sessionId: pathText(request, 'sessionId'),
    });
    sendApiResponse(reply, ended);
  }

  /** Logged out everywhere. */
  @Delete()
  @Rule({ revokes: true })
  async endSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ended } = await this.services.call(request, identity.endSessions, { username: pathText(request, 'username') });
    sendApiResponse(reply, String(ended));
  }
}
