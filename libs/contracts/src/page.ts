import { createHash } from 'node:crypto';
import { Html, html } from '@plant-shop/platform/html/html';

// The look that the shop's own HTML pages share with the console: colours and sizes are those of apps/console/src/app/theme.ts, and
// tests/console/pages-of-services.test.mjs compares them in a browser. The pages load nothing, except identity's a script.

const style = `
:root {
  color-scheme: light dark;
  --body: #fff; --text: #000; --dimmed: #495057; --line: #dee2e6; --surface: #f8f9fa;
  --input-edge: #868e96; --button: #fff; --button-edge: #ced4da;
  --accent: #237032; --error: #791919; --error-edge: #c92a2a; --error-surface: #ffe3e3;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --body: #242424; --text: #c9c9c9; --dimmed: #b8b8b8; --line: #424242; --surface: #2e2e2e;
    --input-edge: #828282; --button: #2e2e2e; --button-edge: #424242;
    --accent: #69db7c; --error: #ffe3e3; --error-edge: #ff8787; --error-surface: #4f2a2a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--body); color: var(--text); overflow-wrap: break-word; }
h1, h2 { font-weight: 650; line-height: 1.3; }
h1 { margin: 0 0 0.5rem; font-size: 1.625rem; }
h2 { margin: 1.75rem 0 0.25rem; font-size: 1.125rem; }
p, ul { margin: 0 0 1rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
/* A name from right to left leaves the order of what stands beside it. */
strong, span, a { unicode-bidi: isolate; }
code, pre { font: 0.875em/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.leaf { display: block; }
.dimmed { color: var(--dimmed); }

.card { display: grid; align-content: center; justify-content: center; min-height: 100vh; padding: 1rem; }
.card main { width: min(26.25rem, 100vw - 2rem); padding: 2rem; border: 1px solid var(--line); border-radius: 0.5rem; box-shadow: 0 1px 3px #0000000d, 0 10px 15px -5px #0000000d; }
.card .leaf { width: 3.5rem; height: 3.5rem; margin: 0 auto 1rem; }
.card h1 { font-size: 1.375rem; }
.card h1, .card h1 + p { text-align: center; }
.card h2 { font-size: 1rem; }
.card ul { padding-left: 1.25rem; }
.card li { margin-bottom: 0.25rem; }
.card li::marker { color: var(--accent); }
form { margin: 0; }
form + form { margin-top: 0.75rem; }
.card form + p, .card form + ul, button + p { margin-top: 1rem; }
label { display: block; margin-bottom: 0.25rem; font-size: 0.875rem; font-weight: 500; }
input, select, button { display: block; width: 100%; min-height: 2.625rem; padding: 0.25rem 0.75rem; border: 1px solid var(--button-edge); border-radius: 0.5rem; color: inherit; font: inherit; }
input, select { margin-bottom: 1rem; border-color: var(--input-edge); background: var(--body); }
input[type=checkbox] { flex: none; width: 1.25rem; min-height: 1.25rem; margin: 0.15rem 0 0; accent-color: #237032; }
label.check { display: flex; gap: 0.625rem; padding: 0.25rem 0; font-weight: 400; }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; }
legend { padding: 0; font-size: 0.875rem; font-weight: 500; }
input[aria-invalid] { border-color: var(--error-edge); }
button { margin-top: 0.75rem; background: var(--button); font-weight: 600; cursor: pointer; }
button[hidden] { display: none; }
[aria-busy] button { opacity: 0.6; cursor: progress; }
button:hover { background: color-mix(in srgb, var(--button), var(--text) 6%); }
button.main { border-color: #237032; background: #237032; color: #fff; }
button.main:hover { background: #1e5f2b; }
button.quiet { border-color: transparent; background: none; color: var(--accent); }
button.quiet:hover { background: var(--surface); }
.error { padding: 0.75rem 1rem; border-radius: 0.5rem; background: var(--error-surface); color: var(--error); }
.qr { display: block; width: 13rem; margin: 0 auto 1rem; background: #fff; }
.card .codes { padding: 0; list-style: none; text-align: center; }
/* A hyphen is no better place to break a key than others. */
code#key { word-break: break-all; user-select: all; }
.codes code { white-space: nowrap; }
.done { padding: 0.75rem 1rem; border: 1px solid var(--accent); border-radius: 0.5rem; }
@media (max-width: 26rem) { .card main { padding: 1.5rem 1.25rem; } }

.document header { display: flex; align-items: center; gap: 0.75rem; height: 3.5rem; padding: 0 1rem; border-bottom: 1px solid var(--line); font-size: 1.125rem; font-weight: 650; }
.document .leaf { width: 1.75rem; height: 1.75rem; }
.document main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
.document pre { margin: 0.5rem 0 1rem; padding: 1rem; border: 1px solid var(--line); border-radius: 0.5rem; background: var(--surface); white-space: pre-wrap; overflow-wrap: anywhere; }
.document nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; margin-top: 2rem; }
section { margin-top: 1.5rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: 0.5rem; }
section h2 { margin-top: 0; }
.document form { max-width: 26.25rem; }
.things { padding: 0; list-style: none; }
.things li { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1rem; padding: 0.75rem 0; border-top: 1px solid var(--line); }
.things p { flex: 1 1 16rem; min-width: 0; margin: 0; overflow-wrap: anywhere; }
.things button { width: auto; margin: 0; padding: 0.25rem 1rem; }
.badge { display: inline-block; padding: 0 0.5rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--surface); font-size: 0.875rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.entries { padding: 0; border: 1px solid var(--line); border-radius: 0.5rem; list-style: none; }
.entries li { display: grid; grid-template-columns: 16rem 3.5rem 1fr; gap: 0.25rem 1rem; padding: 0.75rem 1rem; }
.entries li + li { border-top: 1px solid var(--line); }
.entries p { margin: 0; }
@media (max-width: 44rem) {
  .entries li { grid-template-columns: 1fr auto; }
  .entries p { grid-column: 1 / -1; }
}
`;
const styleHash = createHash('sha256').update(style).digest('base64');

/** The console's logo, apps/console/public/leaf.svg. */
const leafShapes =
  '<rect width="32" height="32" rx="8" fill="#2b8a3e"/><path d="M8 24c0-9 5-15 17-16 0 11-5 17-13 17-1 0-2 0-2.700-.4C10.500 20 14 16.500 19 14c-5.500 1.500-9 5-10.600 9.600z" fill="#fff"/>';
const leaf = new Html(`<svg class="leaf" viewBox="0 0 32 32" aria-hidden="true">${leafShapes}</svg>`);
const icon = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${leafShapes}</svg>`)}`;

export interface PageParts {
  readonly title: string;
  /** A `card` in the middle of the window, for one task; or a `document` to read. */
  readonly layout: 'card' | 'document';
  readonly main: Html;
  /** The address of a script of the shop, and its hash as in the attribute `integrity`. */
  readonly script?: { readonly url: string; readonly integrity: string };
}

/** Returns a whole HTML page. Send it with `pagePolicy`, which allows its style sheet. */
export function pageText({ title, layout, main, script }: PageParts): string {
  const header = layout === 'document' ? html`<header>${leaf} Plant shop</header>\n` : undefined;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Plant shop</title>
<link rel="icon" type="image/svg+xml" href="${icon}">
<style>${new Html(style)}</style>
${script && html`<script src="${script.url}" integrity="${script.integrity}" defer></script>\n`}</head>
<body class="${layout}">
${header}<main>
${layout === 'card' ? leaf : undefined}
${main}
</main>
</body>
</html>
`.text;
}

/**
 * Returns the Content-Security-Policy of a page: its own style sheet and icon, nothing else.
 * @param formAction sources that forms may be sent to
 * @param script the address of the only script
 */
export const pagePolicy = (formAction = "'none'", script?: string): string =>
  `default-src 'none';${script === undefined ? '' : ` script-src ${script};`} style-src 'sha256-${styleHash}'; form-action ${formAction}; img-src data:; base-uri 'none'; frame-ancestors 'none'`;
