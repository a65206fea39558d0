import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { startMailCatcher } from './mail-catcher.mjs';

/** @type {Awaited<ReturnType<typeof startMailCatcher>>} */
let catcher;
before(async () => {
  catcher = await startMailCatcher();
});
after(() => catcher.stop());

/** Sends a mail, line by line. @param {string} to @param {string} mail */
async function send(to, mail) {
  const socket = connect(Number(new URL(catcher.smtpUrl).port), '127.0.0.1').setEncoding('utf8');
  const replies = ['220', '250', '250', '250', '354', '250'];
  const lines = ['EHLO here', 'MAIL FROM:<shop@shop.example>', `RCPT TO:<${to}>`, 'DATA', `${mail}\r\n.`];
  for (const reply of replies) {
    const [answer] = await once(socket, 'data');
    assert.ok(answer.startsWith(reply), answer);
    const line = lines.shift();
    if (line !== undefined) socket.write(`${line}\r\n`);
  }
  socket.destroy();
}

/** @param {string} path */
const page = async (path) => (await fetch(`${catcher.url}${path}`)).text();

test('mails are on the page, with text and HTML, and nothing of them runs there', async () => {
  assert.match(await page('/'), /None yet/);
  await send('ann@shop.example', 'Subject: <b>Hello</b>\r\nContent-Type: text/html\r\n\r\n<p>Your "link" <script>alert(1)</script></p>');
  const [mail] = JSON.parse(await page('/mails.json'));
  assert.deepEqual([mail.to, mail.subject, mail.id], [['ann@shop.example'], '<b>Hello</b>', 1]);
  assert.match(await page('/'), /<a href="\/1">&#60;b&#62;Hello/);
  const shown = await page('/1');
  assert.match(shown, /<iframe sandbox="allow-popups allow-popups-to-escape-sandbox"/);
  assert.doesNotMatch(shown, /<script|<b>/);
  assert.equal((await fetch(`${catcher.url}/2`)).status, 404);
});

test('only the newest 200 are kept', async () => {
  await Promise.all(Array.from({ length: 201 }, () => send('ann@shop.example', 'Subject: a\r\n\r\na')));
  const mails = JSON.parse(await page('/mails.json'));
  assert.deepEqual([mails.length, mails[0].id - mails.at(-1).id], [200, 199]);
});

test('other names of this machine are refused, since pages of other sites could use them', async () => {
  const socket = connect(Number(new URL(catcher.url).port), '127.0.0.1').setEncoding('utf8');
  socket.write('GET /mails.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
  const [answer] = await once(socket, 'data');
  assert.match(answer, /^HTTP\/1\.1 404/);
});
