import { Controller, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { presentedCredentialsOf } from '@plant-shop/credentials/presented-credentials';
import { clientAddress } from '../http/request-authenticator.js';
import { requiredQueryText } from '../http/input.js';
import { Serves } from '../http/route.js';
import { sendApiResponse, RpcForwarder } from '../http/rpc-forwarder.js';

@Controller()
export class SessionsController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Serves(identity.login.client)
  async login(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const session = await this.forwarder.call(request, identity.login, {
      username: requiredQueryText(request, 'username', 'must be given'),
      password: requiredQueryText(request, 'password', 'must be given'),
      address: clientAddress(request),
      userAgent: request.headers['user-agent']?.slice(0, 200) || undefined,
    });
    reply.headers({
      'x-rate-limit': session.attemptsLeft,
      'x-expires-after': session.expiresAt,
    });
    sendApiResponse(reply, session.token);
  }

  /** Ends the session of the token that is sent. Answers 200 even without an open session. */
  @Serves(identity.logout.client)
  async logout(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const digest = sessionDigestOf(request);
    if (digest !== undefined) await this.forwarder.call(request, identity.logout, { digest });
    sendApiResponse(reply, 'logged out');
  }
}

function sessionDigestOf(request: FastifyRequest): string | undefined {
  try {
    return presentedCredentialsOf(request.raw)?.session;
  } catch {
    // An unreadable credential is no open session.
    return undefined;
  }
}
