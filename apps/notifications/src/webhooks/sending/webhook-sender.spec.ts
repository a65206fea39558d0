import { createServer as createSecureServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { certificateFor } from '@plant-shop/testing/certificate';
import { until } from '@plant-shop/testing/until';
import { Receiver } from '@plant-shop/testing/receiver';
import { TargetGuard } from '../endpoints/target-guard.js';
import { maxRetryAfterMs, retryAfterMs, WebhookSender, type WebhookSenderOptions } from './webhook-sender.js';

const post = { at: new Date(), headers: { 'webhook-id': 'one' }, body: '{"event":"grün"}', mayBegin: () => true };

describe('the webhook sender', () => {
  let receiver: Receiver;
  let senders: WebhookSender[];
  beforeEach(async () => {
    senders = [];
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await Promise.all(senders.map((one) => one.close()));
    await receiver.stop();
  });

  const sender = (options: Partial<WebhookSenderOptions> = {}): WebhookSender => {
    const guard = new TargetGuard({ httpsOnly: false, allowed: ['127.0.0.1:*', 'localhost:*'] }, async () => []);
    const made = new WebhookSender(guard, { attemptLimitMs: 8_000, bodyLimitMs: 1_000, maxConnectionsPerOrigin: 4, ...options });
    senders.push(made);
    return made;
  };
  const send = (url = receiver.url, options: Partial<WebhookSenderOptions> = {}) => sender(options).send({ ...post, url: new URL(url) }).result;

  it('posts the exact bytes, and reuses its connection', async () => {
    const one = sender();
    for (let n = 0; n < 5; n++) expect(await one.send({ ...post, url: new URL(receiver.url) }).result).toMatchObject({ status: 204 });
    // The first connection is still being released when the second request begins.
    expect(receiver.connections).toBeLessThanOrEqual(2);
    expect(receiver.received[0]).toMatchObject({
      body: post.body,
      headers: { 'webhook-id': 'one', 'content-type': 'application/json', 'user-agent': 'plant-shop-webhooks/1' },
    });
  });

  it.each([200, 201, 202, 204, 299])('counts %i as a success', async (status) => {
    receiver.answer = (_received, response) => response.writeHead(status).end();
    expect(await send()).toEqual({ at: expect.any(Date), durationMs: expect.any(Number), status });
  });

  it('keeps the beginning of any answer, with the headers that help, without secrets', async () => {
    receiver.answer = (_received, response) => response.writeHead(200, { 'content-type': 'text/plain', 'X-Amzn-RequestId': 'r-1', 'request-id': 'whsec_hunter2', authorization: 'a', 'set-cookie': 'b=1', 'x-odd': 'odd', via: 'v' }).end(`${'o'.repeat(196)} token=hunter2 ${'x'.repeat(9_000)}`);
    const { excerpt, ...sent } = await send();
    expect(sent).toEqual({ at: expect.any(Date), durationMs: expect.any(Number), status: 200 });
    expect(excerpt).toEqual({ headers: { 'x-amzn-requestid': 'r-1', 'request-id': '[redacted]' }, body: `${'o'.repeat(196)} tok`, truncated: true });
    receiver.answer = (_received, response) => response.writeHead(500, { 'content-type': 'text/plain', authorization: 'a', 'set-cookie': 'b=1', 'x-odd': 'odd', via: 'v'.repeat(300) }).end(`${'o'.repeat(396)} token=hunter2 ${'x'.repeat(9_000)}`);
    expect((await send()).excerpt).toEqual({ headers: { 'content-type': 'text/plain', via: 'v'.repeat(120) }, body: `${'o'.repeat(396)} tok`, truncated: true });
    receiver.answer = (_received, response) => response.writeHead(204).end();
    expect(await send()).not.toHaveProperty('excerpt');
  });

  it.each([400, 401, 404, 410, 429, 500, 503])('counts %i as a failure, with the text of the receiver only in its response', async (status) => {
    receiver.answer = (_received, response) => response.writeHead(status, 'odd reason', { 'x-odd': 'odd' }).end('odd text of the receiver');
    const { response, excerpt, ...sent } = await send();
    expect(sent).toMatchObject({ status, error: `The receiver answered ${status}.` });
    expect(JSON.stringify(sent)).not.toContain('odd');
    expect(response).toMatchObject({ headers: { 'x-odd': 'odd' }, body: 'odd text of the receiver' });
    expect(response).not.toHaveProperty('truncated');
    expect(excerpt).toEqual({ body: 'odd text of the receiver' });
  });

  it('keeps the beginning of a long failure, as text that Postgres stores', async () => {
    const text = `a\0b${'🌼'.repeat(4_000)}`;
    receiver.answer = (_received, response) => response.writeHead(500, { 'x-long': 'l'.repeat(1_000), ...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x-${n}`, 'x'.repeat(200)])) }).end(text);
    const { response } = await send();
    expect(response).toMatchObject({ truncated: true, body: `a\ufffdb${'🌼'.repeat(2_046)}\ufffd` });
    expect(response?.headers['x-long']).toBe('l'.repeat(256));
    expect(JSON.stringify(response?.headers).length).toBeLessThan(2_600);
  });

  it('redacts secrets and signatures of a failure, before it cuts them', async () => {
    const signature = `v1,${Buffer.alloc(32, 7).toString('base64')}`;
    const secrets = ['whsec_bm90LWEtc2VjcmV0', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'opaque', 'hunter2', 'user:pass', signature.slice(3)];
    const body = `got ${signature} ${secrets[0]} Authorization: Bearer ${secrets[2]} {"clientSecret": "${secrets[3]}"} ?api_key=${secrets[3]} https://${secrets[4]}@db ${secrets[1]} `;
    const long = `${'x'.repeat(4_090 - body.length)} ${secrets[0]}`;
    receiver.answer = (_received, response) => response.writeHead(500, { 'set-cookie': ['a=opaque', 'b=hunter2'], 'x-hub-signature': signature, 'x-echo': signature }).end(body + long);
    const { response } = await send();
    expect(response?.headers).toMatchObject({ 'set-cookie': '[redacted]', 'x-hub-signature': '[redacted]', 'x-echo': 'v1,[redacted]' });
    for (const secret of secrets) expect(JSON.stringify(response)).not.toContain(secret);
    expect(JSON.stringify(response)).not.toContain('whsec_');
  });

  it.each(['"', 'password', '://', 'eyJ-', 'whsec_', '"token":', 'x', 'Bearer '])('is not slowed down by a failure full of %s', async (text) => {
    receiver.answer = (_received, response) => response.writeHead(500).end(text.repeat(10_000 / text.length));
    const one = sender();
    await one.send({ ...post, url: new URL(receiver.url) }).result;
    // The time of the processor: other processes delay this one.
    const begun = process.cpuUsage();
    for (let n = 0; n < 10; n++) await one.send({ ...post, url: new URL(receiver.url) }).result;
    expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(1_000);
  });

  it.each([301, 302, 303, 307, 308])('does not follow a %i', async (status) => {
    const elsewhere = await Receiver.start();
    receiver.answer = (_received, response) => response.writeHead(status, { location: elsewhere.url }).end();
    expect(await send()).toMatchObject({ status, error: `The receiver answered ${status}: redirects are not followed.` });
    expect(elsewhere.connections).toBe(0);
    await elsewhere.stop();
  });

  it('ignores informational responses', async () => {
    receiver.answer = (_received, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(500).end();
    };
    expect(await send()).toMatchObject({ status: 500 });
  });

  it.each([
    [200, undefined],
    [500, 'The receiver answered 500.'],
  ])('reads at most 64 KiB of an endless response with %i, closes the connection, and keeps the status', async (status, error) => {
    let written = 0;
    let isOpen = true;
    receiver.answer = (_received, response) => {
      response.writeHead(status).on('close', () => (isOpen = false));
      const pour = (): void => {
        while (isOpen && response.write(Buffer.alloc(16_384))) written += 16_384;
        if (isOpen) response.once('drain', pour);
      };
      pour();
    };
    const sent = await send();
    expect(sent).toEqual({ at: expect.any(Date), durationMs: expect.any(Number), status, excerpt: expect.objectContaining({ truncated: true }), ...(error && { error, response: expect.objectContaining({ body: '\ufffd'.repeat(4_096), truncated: true }) }) });
    await until(() => !isOpen);
    // What the buffers of the two sockets hold, and no more.
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it('ends an attempt at its time limit when headers arrive slowly, and when nothing arrives', async () => {
    const timers: NodeJS.Timeout[] = [];
    receiver.answer = ({ path }, response) => {
      if (path === '/hang') return;
      const socket = response.socket!;
      socket.write('HTTP/1.1 200 OK\r\nx-drip: ');
      timers.push(setInterval(() => socket.write('.'), 20));
    };
    const begun = performance.now();
    const sent = await Promise.all(['/hang', '/headers'].map((path) => send(new URL(path, receiver.url).href, { attemptLimitMs: 600 })));
    for (const timer of timers) clearInterval(timer);
    expect(performance.now() - begun).toBeLessThan(4_000);
    for (const one of sent) {
      expect(one).toEqual({ at: expect.any(Date), durationMs: expect.any(Number), error: 'No answer within 0.6 seconds.' });
      expect(one.durationMs).toBeGreaterThanOrEqual(590);
    }
  });

  it('ends an attempt without an answer to its TLS handshake, and closes the connection', async () => {
    let open = 0;
    const silent = createTcpServer((socket) => {
      open++;
      socket.on('error', () => undefined).on('close', () => open--).resume();
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `https://127.0.0.1:${(silent.address() as { port: number }).port}/`;
    expect(await send(url, { attemptLimitMs: 400 })).toMatchObject({ error: expect.stringMatching(/^(No answer within 0.4 seconds|The connection could not be made in time)/) });
    // Look-up, connection and handshake share one limit.
    await until(() => open === 0, 1_000);
    silent.close();
  });

  it.each([
    [200, undefined],
    [500, 'The receiver answered 500.'],
  ])('reads the body of a %i for a limited time, closes the connection, and keeps the status', async (status, error) => {
    let isOpen = true;
    receiver.answer = (_received, response) => {
      const timer = setInterval(() => response.write('.'), 20);
      response.writeHead(status).on('close', () => {
        clearInterval(timer);
        isOpen = false;
      });
      response.flushHeaders();
    };
    const sent = await send(receiver.url, { bodyLimitMs: 200 });
    expect(sent).toEqual({ at: expect.any(Date), durationMs: expect.any(Number), status, isUnfinished: true, excerpt: expect.objectContaining({ truncated: true }), ...(error && { error, response: expect.objectContaining({ truncated: true }) }) });
    expect(sent.durationMs).toBeGreaterThanOrEqual(190);
    expect(sent.durationMs).toBeLessThan(4_000);
    await until(() => !isOpen);
  });

  it('reads the body no longer than the rest of the attempt', async () => {
    receiver.answer = (_received, response) => void setTimeout(() => response.writeHead(200).flushHeaders(), 300);
    const sent = await send(receiver.url, { attemptLimitMs: 600, bodyLimitMs: 60_000 });
    expect(sent).toMatchObject({ status: 200, isUnfinished: true });
    expect(sent.durationMs).toBeLessThan(4_000);
  });

  it('applies the time limit while waiting for a connection, and never sends an attempt that has timed out', async () => {
    receiver.answer = () => undefined;
    const one = sender({ attemptLimitMs: 600, maxConnectionsPerOrigin: 1 });
    const sent = await Promise.all([1, 2, 3].map(() => one.send({ ...post, url: new URL(receiver.url) }).result));
    for (const each of sent) expect(each).toMatchObject({ error: 'No answer within 0.6 seconds.' });
    // On a busy machine, what was sent in time may not be received yet.
    await until(() => receiver.openConnections === 0);
    const before = receiver.received.length;
    receiver.answer = (_received, response) => response.writeHead(204).end();
    // Opening a new connection may take longer than the limit here.
    await until(async () => (await one.send({ ...post, headers: { 'webhook-id': 'another' }, url: new URL(receiver.url) }).result).status === 204);
    expect(receiver.ids.slice(before)).not.toContain('one');
  });

  describe('that cuts an attempt', () => {
    const isCut = { at: expect.any(Date), durationMs: expect.any(Number), isCut: true };

    it('closes the connection, and reports nothing about the receiver', async () => {
      receiver.answer = () => undefined;
      const sending = sender().send({ ...post, url: new URL(receiver.url) });
      await until(() => receiver.received.length === 1);
      sending.cut();
      expect(await sending.result).toEqual(isCut);
      await until(() => receiver.openConnections === 0);
    });

    it('sends nothing on a connection that opens afterwards', async () => {
      receiver.answer = (_received, response) => setTimeout(() => response.writeHead(204).end(), 100);
      const one = sender({ maxConnectionsPerOrigin: 1 });
      const first = one.send({ ...post, url: new URL(receiver.url) });
      const second = one.send({ ...post, url: new URL(receiver.url), headers: { 'webhook-id': 'second' } });
      second.cut();
      expect(await second.result).toEqual(isCut);
      await first.result;
      await one.send({ ...post, url: new URL(receiver.url), headers: { 'webhook-id': 'third' } }).result;
      expect(receiver.ids).toEqual(['one', 'third']);
    });

    it('keeps a status that has arrived', async () => {
      receiver.answer = (_received, response) => response.writeHead(200).flushHeaders();
      const sending = sender({ bodyLimitMs: 5_000 }).send({ ...post, url: new URL(receiver.url) });
      await until(() => receiver.received.length === 1);
      await new Promise((resolve) => setTimeout(resolve, 200));
      sending.cut();
      expect(await sending.result).toEqual({ at: expect.any(Date), durationMs: expect.any(Number), status: 200 });
    });
  });

  it('asks immediately before the first byte whether it may begin', async () => {
    let mayBegin = true;
    receiver.answer = (_received, response) => setTimeout(() => response.writeHead(204).end(), 300);
    const one = sender({ maxConnectionsPerOrigin: 1 });
    const sent = [1, 2].map(() => one.send({ ...post, url: new URL(receiver.url), mayBegin: () => mayBegin }).result);
    await until(() => receiver.received.length === 1);
    mayBegin = false;
    expect(await Promise.all(sent)).toMatchObject([{ status: 204 }, { isCut: true }]);
    expect(receiver.received).toHaveLength(1);
  });

  it('reports what is wrong with a connection', async () => {
    const closing = createTcpServer((socket) => socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1');
    // A socket that is never read does not notice its end, and stays open.
    const talking = createTcpServer((socket) => socket.resume().end('220 mail.test ESMTP\r\n')).listen(0, '127.0.0.1');
    await Promise.all([once(closing, 'listening'), once(talking, 'listening')]);
    const urlOf = (server: typeof closing): string => `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
    const gone = urlOf(closing);
    expect(await send(gone)).toMatchObject({ error: 'The receiver closed the connection.' });
    expect(await send(urlOf(talking))).toMatchObject({ error: 'The response is not HTTP.' });
    closing.close();
    talking.close();
    await Promise.all([once(closing, 'close'), once(talking, 'close')]);
    expect(await send(gone)).toMatchObject({ error: 'The connection was refused.' });
    receiver.answer = (_received, response) => response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end();
    expect(await send()).toMatchObject({ error: 'The headers of the response are too long.' });
  });

  it.each([
    ['ENOTFOUND', 'The name of the receiver does not exist.'],
    ['ENODATA', 'The name of the receiver has no address.'],
    ['ECONNREFUSED', 'The name of the receiver could not be looked up.'],
    ['ETIMEOUT', 'The name of the receiver could not be looked up.'],
  ])('reports a failed look-up: %s', async (code, error) => {
    const guard = new TargetGuard({ httpsOnly: false, allowed: [] }, async () => {
      throw Object.assign(new Error(`queryA ${code} private.attacker.test`), { code, syscall: 'queryA' });
    });
    const one = new WebhookSender(guard, { attemptLimitMs: 8_000, bodyLimitMs: 1_000, maxConnectionsPerOrigin: 4 });
    senders.push(one);
    expect(await one.send({ ...post, url: new URL('https://receiver.test/') }).result).toMatchObject({ error });
  });

  it('returns the value of Retry-After', async () => {
    receiver.answer = (_received, response) => response.writeHead(503, { 'retry-after': '7' }).end();
    expect(await send()).toMatchObject({ status: 503, retryAfterMs: 7_000 });
  });

  it('sends over TLS to trusted receivers only', async () => {
    const { key, cert } = certificateFor('DNS:localhost');
    const secure = await Receiver.start(createSecureServer({ key, cert }));
    const url = `https://localhost:${secure.port}/hook`;
    expect(await send(url, { ca: cert })).toMatchObject({ status: 204 });
    expect(secure.received[0]?.body).toBe(post.body);
    // Untrusted; a certificate of another name; no TLS.
    expect(await send(url)).toMatchObject({ error: expect.stringMatching(/^The certificate.*SELF_SIGNED/) });
    expect(await send(`https://127.0.0.1:${secure.port}/`, { ca: cert })).toMatchObject({ error: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID') });
    expect(await send(receiver.url.replace('http:', 'https:'))).toMatchObject({ error: expect.stringMatching(/^The (certificate|connection|receiver)/) });
    expect(secure.received).toHaveLength(1);
    expect(receiver.received).toHaveLength(0);
    await secure.stop();
  });
});

describe('Retry-After', () => {
  const now = new Date('2027-03-01T08:00:00.000Z');

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Mon, 01 Mar 2027 08:01:00 GMT', 60_000],
    ['Monday, 01-Mar-27 08:01:00 GMT', 60_000],
    ['Mon, 01 Mar 2027 07:00:00 GMT', 0],
    ['999999999999', maxRetryAfterMs],
    ['Mon, 01 Mar 2099 08:00:00 GMT', maxRetryAfterMs],
  ])('%s is %d ms', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });

  it.each([undefined, '', '-5', '1.5', 'soon', '2027-03-01', '1e9', 'Mon, 99 Foo 2027'])('%s is ignored', (header) => {
    expect(retryAfterMs(header, now)).toBeUndefined();
  });
});
