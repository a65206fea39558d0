import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, queryText } from '../http/input.js';
import { Route } from '../http/route.js';
import { AuditPages } from './audit-pages.js';

@Controller('v3/audit')
export class AuditController {
  constructor(private readonly pages: AuditPages) {}

  @Get()
  @Route({ compressed: true })
  listAudit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const subject = queryText(request, 'subject');
    const operation = queryText(request, 'operation');
    const query = { ...(subject !== undefined && { subject }), ...(operation !== undefined && { operation }), ...pageOf(request) };
    return this.pages.send(request, reply, query);
  }
}
