import { createHash } from 'node:crypto';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import { shop } from '@plant-shop/contracts/shop';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNotModified } from '../http/headers.js';
import { Routes } from '../http/route-checks.js';
import { Serves } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';

interface SerializedDocument {
  readonly bytes: Buffer;
  readonly etag: string;
}

@Controller()
export class OpenApiController {
  private document: Promise<SerializedDocument> | undefined;

  constructor(
    private readonly routes: Routes,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
  ) {}

  @Serves(shop.getOpenApi)
  async getOpenApi(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { bytes, etag } = await (this.document ??= this.build());
    // Weak: the bytes depend on the encoding.
    reply.headers({ etag: `W/${etag}`, 'cache-control': 'no-cache' });
    if (isNotModified(request.headers['if-none-match'], etag)) void reply.code(304).send();
    else void reply.header('content-type', 'application/json; charset=utf-8').send(bytes);
  }

  /** Builds the document on the first request, and imports its builder only then: most replicas never need it. */
  private async build(): Promise<SerializedDocument> {
    const { makeDocument } = await import('./document.js');
    const bytes = Buffer.from(JSON.stringify(makeDocument(this.routes.served, this.options.publicUrl)));
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
  }
}
