import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Undocumented } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { forward } from './forward.js';

const documents = ['.well-known/openid-configuration', '.well-known/oauth-authorization-server'];

/** Identity's OAuth endpoints and pages, under the public origin. */
@Controller()
export class OAuthController {
  constructor(@Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions) {}

  @Get([...documents, 'oauth/*'])
  @Undocumented()
  getOAuth(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  /** Has no HEAD, which would begin an authorization too. */
  @Get('oauth/authorize')
  @Undocumented({ unsafeGet: true })
  beginAuthorization(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  @Post('oauth/*')
  @Undocumented({ body: { kind: 'oauthForm' } })
  postOAuth(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }
}
