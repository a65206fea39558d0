import { type ProblemCode, problemTable } from './problem-table.js';

// The texts are ours and hold no markup; codes are kebab-case. Nothing of a request gets into these pages.

const page = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body{font:16px/1.5 system-ui;max-width:46rem;margin:2rem auto;padding:0 1rem}td,th{text-align:left;padding:.2rem 1rem .2rem 0}</style>
${content}
</html>
`;

export function problemPage(code: ProblemCode): string {
  const { status, title, meaning } = problemTable[code];
  return page(
    title,
    `<h1>${title}</h1>\n<p>${meaning}</p>\n<p>Code <code>${code}</code>, HTTP status ${status}.</p>\n<p><a href="../problems">All problems</a></p>`,
  );
}

export function problemsPage(): string {
  const rows = Object.entries(problemTable)
    .map(([code, { status, title }]) => `<tr><td><a href="problems/${code}">${code}</a></td><td>${status}</td><td>${title}</td></tr>`)
    .join('\n');
  return page('Problems', `<h1>Problems</h1>\n<table>\n<tr><th>code</th><th>status</th><th>title</th></tr>\n${rows}\n</table>`);
}
