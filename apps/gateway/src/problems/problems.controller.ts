import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { Rule } from '../http/rule.js';
import { routeNotFound } from './problem.js';
import { problemPage, problemsPage } from './problem-pages.js';
import { isProblemCode } from './problem-table.js';

/** Where the `type` of a problem leads to. */
@Controller('problems')
export class ProblemsController {
  @Get()
  @Rule()
  listProblems(@Res() reply: FastifyReply): void {
    sendPage(reply, problemsPage());
  }

  @Get(':code')
  @Rule()
  showProblem(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const code = pathText(request, 'code');
    if (!isProblemCode(code)) throw routeNotFound();
    sendPage(reply, problemPage(code));
  }
}

function sendPage(reply: FastifyReply, html: string): void {
  void reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    .send(html);
}
