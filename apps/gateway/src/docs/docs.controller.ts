import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isNotModified } from '../http/headers.js';
import { pathText } from '../http/input.js';
import { Undocumented, undocumentedRoute } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { routeNotFound } from '../http/problem.js';
import { docsPage, isViewerFile, openViewerFile } from './viewer.js';

/** The API reference, where operations can be tried; its viewer is served by the gateway. */
@Controller('docs')
export class DocsController {
  private readonly policy: string;

  constructor(@Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions) {
    // The viewer sets style attributes, draws icons from data URLs, and calls the API at the address that the document names.
    this.policy =
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
      `connect-src 'self' ${new URL(options.publicUrl).origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  }

  @Get()
  @Undocumented({ compressed: true })
  showDocs(@Res() reply: FastifyReply): void {
    void reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': this.policy })
      .send(docsPage);
  }

  @Get(':file')
  @Undocumented({ compressed: true })
  async getDocsFile(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const name = pathText(request, 'file');
    if (!isViewerFile(name)) throw routeNotFound();
    const { type, etag, content } = openViewerFile(name, this.options.docsOAuthClient);
    // Weak: the bytes depend on the encoding.
    reply.headers({ etag: `W/${etag}`, 'cache-control': 'no-cache', 'content-security-policy': this.policy });
    if (isNotModified(request.headers['if-none-match'], etag)) void reply.code(304).send();
    else void reply.header('content-type', type).send(content());
  }
}

/** Redirects `/docs/`. Not a Nest controller, since Nest strips the trailing slash. The target is relative, like the page's links. */
export function redirectToDocs(instance: FastifyInstance): void {
  instance.get('/docs/', { config: { spec: undocumentedRoute('redirectToDocs') } }, (_request, reply) => {
    void reply.redirect('../docs', 308);
  });
}
