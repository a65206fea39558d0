import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { pagePolicy, pageText } from '@plant-shop/contracts/page';
import { isProblemCode, type ProblemCode, problemTable } from '@plant-shop/contracts/problem-table';
import { type Html, html } from '@plant-shop/platform/html/html';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathText } from '../http/input.js';
import { Undocumented } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { exampleOf, routeNotFound } from '../http/problem.js';

// These pages contain nothing from requests. Links are relative, so they also work behind a proxy that adds a path prefix.

function problemPage(code: ProblemCode, publicUrl: string): string {
  const { status, title, meaning, remedy } = problemTable[code];
  return page(
    title,
    html`<h1>${title}</h1>
<p class="dimmed">HTTP status <strong>${String(status)}</strong>, code <code>${code}</code></p>
<h2>What it means</h2>
<p>${meaning}</p>
<h2>What to do</h2>
<p>${remedy}</p>
<h2>Example</h2>
<pre>${JSON.stringify(exampleOf(code, publicUrl), null, 2)}</pre>
<nav aria-label="More"><a href="../problems">All problems</a><a href="../docs">API reference</a></nav>`,
  );
}

function problemsPage(): string {
  const entries = Object.entries(problemTable).map(
    ([code, { status, title, meaning }]) => html`<li>
<a href="problems/${code}"><code>${code}</code></a>
<span><span class="badge">${String(status)}</span></span>
<p><strong>${title}</strong><br>${meaning}</p>
</li>
`,
  );
  return page(
    'Problems',
    html`<h1>Problems</h1>
<p>Every error is a problem document (RFC 9457, <code>application/problem+json</code>). Its <code>code</code> is one of those
below, whose meaning never changes; its <code>type</code> is the address of the page about it.</p>
<ul class="entries">
${entries}</ul>
<nav aria-label="More"><a href="docs">API reference</a></nav>`,
  );
}

const page = (title: string, main: Html): string => pageText({ title, layout: 'document', main });

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

function sendPage(reply: FastifyReply, html: string): void {
  void reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', pagePolicy())
    .send(html);
}
