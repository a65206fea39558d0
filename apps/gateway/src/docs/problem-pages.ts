import { type ProblemCode, problemTable } from '@plant-shop/contracts/problem-table';
import { type Html, html } from '@plant-shop/platform/html/html';
import { pageText } from '@plant-shop/contracts/page';
import { exampleOf } from '../http/problem.js';

// These pages contain nothing from requests. Links are relative, so they also work behind a proxy that adds a path prefix.

export function problemPage(code: ProblemCode, publicUrl: string): string {
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

export function problemsPage(): string {
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
