// `follow-events` in a page of Chromium. When this process is killed, the pipe to the browser closes and the browser ends, too.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium } from 'playwright-core';
import type { JournalEntry } from './follow.js';
import type { FollowingJob } from './follow-events.js';
import { appendToJournal, readJournal } from './journal.js';

export interface Browser {
  readonly binary: string;
  /** Environment variables that it needs in addition to this process'. */
  readonly env: Readonly<Record<string, string>>;
}

/** The program's first argument, as JSON. */
export interface BrowserFollowingJob extends FollowingJob {
  readonly browser: Browser;
}

const job = JSON.parse(process.argv[2] ?? '') as BrowserFollowingJob;
// The parent process has exited.
process.stdin.on('close', () => process.exit(1)).resume();

const page = `<!doctype html><script type="importmap">{ "imports": { "openapi-fetch": "/openapi-fetch.js" } }</script>
<script type="module">
  import * as library from '/library/index.js';
  import { follow } from '/follow.js';
  const { job, earlier } = await begin();
  follow(library, job, earlier, note).catch((error) => failed(String(error?.stack ?? error)));
</script>`;

/** Returns the file behind a path of the page: the library as it was built, its only dependency, and the loop. */
function fileOf(path: string): URL {
  if (path === '/follow.js') return new URL('follow.js', import.meta.url);
  if (path === '/openapi-fetch.js') return new URL('../node_modules/openapi-fetch/dist/index.mjs', job.library);
  return new URL(path.replace(/^\/library\//, ''), job.library);
}

const server = createServer(({ url = '/' }, response) => {
  if (url === '/') return response.setHeader('content-type', 'text/html').end(page);
  if (!url.endsWith('.js')) return response.writeHead(404).end();
  return response.setHeader('content-type', 'text/javascript').end(readFileSync(fileOf(url)));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

const { binary, env } = job.browser;
const browser = await chromium.launch({ executablePath: binary, env: { ...process.env, ...env }, args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
const tab = await browser.newPage();
await tab.exposeFunction('begin', () => ({ job, earlier: readJournal(job.journal) }));
await tab.exposeFunction('note', (entry: JournalEntry) => appendToJournal(job.journal, entry));
await tab.exposeFunction('failed', fail);
tab.on('pageerror', (error) => fail(String(error)));
tab.on('crash', () => fail('the page crashed'));
await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);

function fail(reason: string): never {
  process.stderr.write(`follow-events-in-browser: ${reason}\n`);
  process.exit(1);
}
