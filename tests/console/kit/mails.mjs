import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { TIMEOUT_MS } from './console.mjs';

/** The page of the mail server that `npm start` runs. */
const mailUrl = () => JSON.parse(readFileSync(process.env['RUN_FILE'] ?? '', 'utf8')).mailUrl;

/** Waits for the mails to an address, newest first. @param {string} to @param {number} count @param {number} [withinMs] @returns {Promise<{ subject: string, text: string, page: string }[]>} `page`: where a browser shows it */
export async function mailsTo(to, count, withinMs = TIMEOUT_MS) {
  const end = performance.now() + withinMs;
  for (;;) {
    const all = /** @type {{ id: number, to: string[], subject: string, text: string }[]} */ (await (await fetch(`${mailUrl()}/mails.json`)).json());
    const found = all.filter((mail) => mail.to.includes(to)).map((mail) => ({ ...mail, page: `${mailUrl()}/${mail.id}` }));
    if (found.length >= count) return found;
    assert.ok(performance.now() < end, `${found.length} of ${count} mails came to ${to}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
