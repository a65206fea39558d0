import { Controller, Req, Res } from '@nestjs/common';
import { shop } from '@plant-shop/contracts/shop';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, queryText } from '../http/input.js';
import { Serves } from '../http/route.js';
import { AuditPages } from './audit-pages.js';

@Controller()
export class AuditController {
  constructor(private readonly pages: AuditPages) {}

  @Serves(shop.listAudit)
  listAudit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const subject = queryText(request, 'subject');
    const operation = queryText(request, 'operation');
    const query = { ...(subject !== undefined && { subject }), ...(operation !== undefined && { operation }), ...pageOf(request) };
    return this.pages.send(request, reply, query);
  }
}
