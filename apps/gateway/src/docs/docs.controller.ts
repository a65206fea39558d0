import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from '../http/conditions.js';
import { pathText } from '../http/input.js';
import { Rule, ruleFor } from '../http/rule.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { routeNotFound } from '../problems/problem.js';
import { docsPage, isViewerFile, openViewerFile } from './viewer.js';

/** A page to read the API from and to try its operations, with a viewer that comes with the gateway. */
@Controller('docs')
export class DocsController {
  private readonly policy: string;

  constructor(@Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions) {
    // The viewer sets styles on elements and draws its icons from data URLs. It calls the API where the document says it is.
    this.policy =
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
      `connect-src 'self' ${new URL(options.publicUrl).origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  }

  @Get()
  @Rule({ compressed: true })
  showDocs(@Res() reply: FastifyReply): void {
    void reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': this.policy })
      .send(docsPage);
  }

  @Get(':file')
  @Rule({ compressed: true })
  async getDocsFile(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const name = pathText(request, 'file');
    if (!isViewerFile(name)) throw routeNotFound();
    const { type, etag, content } = openViewerFile(name, this.options.docsOAuthClient);
    // Weak: the bytes differ by how they are compressed.
    reply.headers({ etag: `W/${etag}`, 'cache-control': 'no-cache', 'content-security-policy': this.policy });
    if (isKnown(request.headers['if-none-match'], etag)) void reply.code(304).send();
    else void reply.header('content-type', type).send(content());
  }
}

/** Of `/docs/`. Outside Nest's controllers, since Nest takes the slash away. The address is relative, like those of the page. */
export function redirectToDocs(instance: FastifyInstance): void {
  instance.get('/docs/', { config: { rule: ruleFor('redirectToDocs') } }, (_request, reply) => {
    void reply.redirect('../docs', 308);
  });
}
