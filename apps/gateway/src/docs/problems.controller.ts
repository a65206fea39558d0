import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { isProblemCode } from '@plant-shop/contracts/problem-table';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendPage } from '../http/headers.js';
import { pathText } from '../http/input.js';
import { Undocumented } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { routeNotFound } from '../http/problem.js';
import { problemPage, problemsPage } from './problem-pages.js';

/** The pages that the `type` of a problem links to. */
@Controller('problems')
export class ProblemsController {
  constructor(@Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions) {}

  @Get()
  @Undocumented({ compressed: true })
  listProblems(@Res() reply: FastifyReply): void {
    sendPage(reply, problemsPage());
  }

  @Get(':code')
  @Undocumented({ compressed: true })
  showProblem(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const code = pathText(request, 'code');
    if (!isProblemCode(code)) throw routeNotFound();
    sendPage(reply, problemPage(code, this.options.publicUrl));
  }
}
