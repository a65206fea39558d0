import { exampleOf } from './problem-example.js';
import { type ProblemCode, problemTable } from './problem-table.js';

// These pages contain nothing from requests. Links are relative, so they also work behind a proxy that adds a path prefix.

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0}
pre{overflow-x:auto;padding:1rem;border:1px solid #8888;border-radius:.4rem}code,pre{font:.9em/1.5 ui-monospace,monospace}`;

const page = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
${content}
</body>
</html>
`;

export function problemPage(code: ProblemCode, publicUrl: string): string {
  const { status, title, meaning, remedy } = problemTable[code];
  const example = JSON.stringify(exampleOf(code, publicUrl), null, 2);
  return page(
    escaped(title),
    `<h1>${escaped(title)}</h1>
<p>HTTP status <strong>${status}</strong>, code <code>${code}</code></p>
<h2>What it means</h2>
<p>${escaped(meaning)}</p>
<h2>What to do</h2>
<p>${escaped(remedy)}</p>
<h2>Example</h2>
<pre>${escaped(example)}</pre>
<p><a href="../problems">All problems</a> · <a href="../docs">API reference</a></p>`,
  );
}

export function problemsPage(): string {
  const rows = Object.entries(problemTable)
    .map(
      ([code, { status, title, meaning }]) =>
        `<tr><td><a href="problems/${code}"><code>${code}</code></a></td><td>${status}</td><td><strong>${escaped(title)}</strong><br>${escaped(meaning)}</td></tr>`,
    )
    .join('\n');
  return page(
    'Problems',
    `<h1>Problems</h1>
<p>Every error is a problem document (RFC 9457, <code>application/problem+json</code>). Its <code>code</code> is one of those
below, whose meaning never changes; its <code>type</code> is the address of the page about it.</p>
<table>
<tr><th>code</th><th>status</th><th>title and meaning</th></tr>
${rows}
</table>
<p><a href="docs">API reference</a></p>`,
  );
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
