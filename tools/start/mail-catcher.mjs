import { once } from 'node:events';
import { createServer } from 'node:http';
import { freePort, nextFreePort } from './ports.mjs';

/** Mails kept; older ones are dropped. */
const MOST = 200;
const FIRST_PORT = 8025;

/** @typedef {{ id: number, at: string, to: string[], subject: string, text: string, html: string }} Mail */

/**
 * Starts a mail server on this machine that delivers nothing, with a page that shows what it got, and the same as JSON at /mails.json. Needs the
 * installed packages.
 */
export async function startMailCatcher() {
  const [{ SMTPServer }, { default: PostalMime }] = await Promise.all([import('smtp-server'), import('postal-mime')]);
  /** @type {Mail[]} newest first */
  const mails = [];
  let count = 0;
  const smtp = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: 1_000_000,
    onData: (stream, { envelope }, callback) => {
      const take = async () => {
        const { subject = '', text = '', html = '' } = await PostalMime.parse(Buffer.concat(await stream.toArray()));
        mails.unshift({ id: (count += 1), at: new Date().toISOString(), to: envelope.rcptTo.map(({ address }) => address), subject, text, html });
        mails.splice(MOST);
      };
      take().then(() => callback(), callback);
    },
  });
  const smtpPort = await freePort();
  await once(smtp.listen(smtpPort, '127.0.0.1'), 'listening');

  const web = createServer((request, response) => {
    // Pages of other sites must not read mails by a name that resolves to this machine.
    const isHere = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? '');
    const [type, body] = isHere ? pageOf(request.url ?? '/', mails) : [undefined, undefined];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain', 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'", 'cache-control': 'no-store' });
    response.end(body ?? 'There is nothing here.');
  });
  const port = await nextFreePort(FIRST_PORT);
  await once(web.listen(port, '127.0.0.1'), 'listening');
  return {
    smtpUrl: `smtp://127.0.0.1:${smtpPort}`,
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      web.closeAllConnections();
      await Promise.all([new Promise((resolve) => web.close(resolve)), new Promise((resolve) => smtp.close(() => resolve(undefined)))]);
    },
  };
}

/** @param {string} path @param {readonly Mail[]} mails @returns {[string, string] | [undefined, undefined]} the type of a page and its text */
function pageOf(path, mails) {
  if (path === '/mails.json') return ['application/json', JSON.stringify(mails)];
  if (path === '/') return ['text/html; charset=utf-8', listPage(mails)];
  const mail = mails.find(({ id }) => path === `/${id}`);
  return mail ? ['text/html; charset=utf-8', mailPage(mail)] : [undefined, undefined];
}

/** @param {string} text */
const escaped = (text) => text.replaceAll(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

/** @param {string} title @param {string} body */
const page = (title, body) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:960px;margin:32px auto;padding:0 16px}td,th{text-align:left;padding:4px 16px 4px 0}
pre{white-space:pre-wrap;background:#f6f6f3;padding:16px}iframe{width:100%;height:640px;border:1px solid #ccc}</style></head>
<body><h1>${escaped(title)}</h1>
${body}
</body></html>
`;

/** @param {readonly Mail[]} mails */
function listPage(mails) {
  const rows = mails.map(({ id, at, to, subject }) => `<tr><td>${at.slice(11, 19)}</td><td>${escaped(to.join())}</td><td><a href="/${id}">${escaped(subject || '(no subject)')}</a></td></tr>`);
  const table = `<table><tr><th>Time (UTC)</th><th>To</th><th>Subject</th></tr>\n${rows.join('\n')}</table>`;
  return page('Mails of the shop', mails.length === 0 ? '<p>None yet. Nothing is delivered: the mails of the shop end here.</p>' : table);
}

/** The HTML stands in a frame that runs no scripts. @param {Mail} mail */
const mailPage = ({ at, to, subject, text, html }) =>
  page(subject || '(no subject)', `<p>To ${escaped(to.join())}, ${at} · <a href="/">all mails</a></p>
<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" title="HTML" srcdoc="${escaped(`<base target="_blank">${html}`)}"></iframe>
<h2>Plain text</h2><pre>${escaped(text)}</pre>`);
