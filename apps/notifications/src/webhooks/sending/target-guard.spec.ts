import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Receiver } from '@plant-shop/testing/receiver';
import { isPublic, TargetGuard, TargetRefused } from '../endpoints/target-guard.js';
import { WebhookSender } from './webhook-sender.js';

const post = { at: new Date(), headers: {}, body: '{}', mayBegin: () => true };

/** Addresses of test names. In the URLs below, `%` is the sentinel's port. */
const names: Record<string, string[]> = {
  'private.attacker.test': ['10.0.0.1'],
  'loopback.attacker.test': ['127.0.0.1'],
  'six.attacker.test': ['::1'],
  'mapped.attacker.test': ['::ffff:127.0.0.1'],
  'nat64.attacker.test': ['64:ff9b::7f00:1'],
  'mixed.attacker.test': ['93.184.215.14', '127.0.0.1'],
  'metadata.attacker.test': ['169.254.169.254'],
  'broken.attacker.test': ['not an address'],
  'zone.attacker.test': ['fe80::1%lo'],
};

const refused = [
  // loopback, in every spelling that a URL has
  'http://127.0.0.1:%/', 'http://127.1:%/', 'http://127.0.1:%/', 'http://2130706433:%/', 'http://0x7f000001:%/',
  'http://0x7f.0x0.0x0.0x1:%/', 'http://0177.0.0.1:%/', 'http://017700000001:%/', 'http://0177.0x0.0.1:%/',
  'http://127.0.0.1.:%/', 'http://127.255.255.254:%/', 'http://１２７.0.0.1:%/', 'http://127。0。0。1:%/',
  'http://%31%32%37.0.0.1:%/', 'http://①②⑦.0.0.1:%/', 'http:\\\\127.0.0.1:%\\', 'http:127.0.0.1:%', 'http:/127.0.0.1:%/',
  'http://127.0.0.1:%#@93.184.215.14/', 'http://127.0.0.1:%?@93.184.215.14/', 'ht\ntp://127.0.0.1:%/',
  'http://[::1]:%/', 'http://[0:0:0:0:0:0:0:1]:%/', 'http://[0000::0001]:%/', 'http://[::ffff:127.0.0.1]:%/',
  'http://[::ffff:7f00:1]:%/', 'http://[::127.0.0.1]:%/', 'http://[::ffff:0:127.0.0.1]:%/',
  // this machine by name or unspecified address
  'http://0:%/', 'http://0.0.0.0:%/', 'http://[::]:%/', 'http://localhost:%/', 'http://LOCALHOST:%/', 'http://localhost.:%/',
  'http://a.localhost:%/', 'http://ip6-localhost:%/',
  // private networks
  'http://10.0.0.1:%/', 'http://172.16.0.1:%/', 'http://172.31.255.255:%/', 'http://192.168.0.1:%/', 'http://100.64.0.1:%/',
  'http://100.127.255.255:%/', 'http://[fc00::1]:%/', 'http://[fd12:3456::1]:%/', 'http://[fec0::1]:%/',
  // link-local, and clouds' metadata
  'http://169.254.0.1:%/', 'http://169.254.169.254/', 'http://2852039166/', 'http://0xa9fea9fe/', 'http://[fe80::1]:%/',
  'http://[fd00:ec2::254]/', 'http://[::ffff:a9fe:a9fe]/', 'http://100.100.100.200/', 'http://192.0.0.192/', 'http://168.63.129.16/',
  'http://metadata.google.internal/', 'http://metadata/', 'http://printer.local/',
  // IPv4 inside IPv6
  'http://[64:ff9b::7f00:1]:%/', 'http://[64:ff9b::a9fe:a9fe]/', 'http://[64:ff9b:1::7f00:1]:%/', 'http://[2002:7f00:1::]:%/',
  'http://[2002:a9fe:a9fe::1]/', 'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  // ranges with other uses
  'http://224.0.0.1:%/', 'http://239.255.255.250:1900/', 'http://255.255.255.255:%/', 'http://240.0.0.1:%/',
  'http://192.0.2.1:%/', 'http://198.51.100.1:%/', 'http://203.0.113.1:%/', 'http://198.18.0.1:%/', 'http://192.88.99.1:%/',
  'http://[ff02::1]:%/', 'http://[2001:db8::1]:%/', 'http://[3fff::1]:%/', 'http://[2001:2::1]:%/', 'http://[100::1]:%/',
  'http://[5f00::1]:%/', 'http://[4000::1]:%/',
  // names
  ...Object.keys(names).map((name) => `http://${name}:%/`),
];

describe('the target guard', () => {
  let sentinel: Receiver;
  beforeAll(async () => {
    // It would answer at any address of this machine.
    sentinel = await Receiver.start(undefined, '::');
  });
  afterAll(() => sentinel.stop());

  const resolve = async (name: string): Promise<string[]> => names[name] ?? [];
  const strict = (): TargetGuard => new TargetGuard({ httpsOnly: false, allowed: [] }, resolve);
  const send = async (guard: TargetGuard, url: string) => {
    const sender = new WebhookSender(guard, { bodyLimitMs: 1_000, attemptLimitMs: 1_000, maxConnectionsPerOrigin: 1 });
    try {
      return await sender.send({ ...post, url: new URL(url) }).result;
    } finally {
      await sender.close();
    }
  };

  it(`refuses ${refused.length} targets, and never connects to a server of this machine`, async () => {
    expect(refused.length).toBeGreaterThanOrEqual(60);
    const before = sentinel.connections;
    for (const target of refused) {
      const url = target.replaceAll(':%', `:${sentinel.port}`);
      if (!URL.canParse(url)) {
        expect([url, strict().faultOf(url)]).toEqual([url, 'must be a URL']);
        continue;
      }
      await expect(strict().addressesOf(new URL(url))).rejects.toThrow(TargetRefused);
      const sent = await send(strict(), url);
      expect([url, sent.status, sent.error]).toEqual([url, undefined, expect.stringMatching(/^The URL (must|leads)/)]);
    }
    expect(sentinel.connections).toBe(before);
  });

  it.each([
    ['http://user:secret@example.com/', 'must not hold credentials'],
    ['http://user@example.com/', 'must not hold credentials'],
    ['http://example.com:22/', 'must not have port 22'],
    ['http://example.com:25/', 'must not have port 25'],
    ['http://example.com:6667/', 'must not have port 6667'],
    ['http://example.com:0/', 'must not have port 0'],
    ['ftp://example.com/', 'must be an http or https URL'],
    ['file:///etc/passwd', 'must be an http or https URL'],
    ['gopher://127.0.0.1:70/', 'must be an http or https URL'],
    ['javascript:0', 'must be an http or https URL'],
    ['unix:/var/run/docker.sock', 'must be an http or https URL'],
    ['example.com/hook', 'must be a URL'],
    ['http://', 'must be a URL'],
    ['http://127.0.0.1.256/', 'must be a URL'],
  ])('reports what is wrong with %s, and sends nothing there', async (url, fault) => {
    expect(strict().faultOf(url)).toBe(fault);
    if (URL.canParse(url)) expect(await send(strict(), url)).toMatchObject({ error: `The URL ${fault}.` });
  });

  it('connects to an allowed target, which proves that the sentinel works', async () => {
    const before = sentinel.connections;
    const allowing = new TargetGuard({ httpsOnly: true, allowed: ['127.0.0.1:*'] }, resolve);
    expect(await send(allowing, `http://127.0.0.1:${sentinel.port}/`)).toMatchObject({ status: 204 });
    expect(sentinel.connections).toBe(before + 1);
  });

  it('allows exactly the listed hosts and ports', () => {
    const guard = new TargetGuard({ httpsOnly: true, allowed: ['localhost:9000', '10.0.0.1:*'] }, resolve);
    expect(guard.faultOf('http://localhost:9000/')).toBeUndefined();
    expect(guard.faultOf('http://10.0.0.1:22/')).toBeUndefined();
    for (const url of ['https://localhost:9001/', 'https://localhost/', 'https://127.0.0.1:9000/', 'https://10.0.0.2/', 'http://example.com/']) {
      expect([url, guard.faultOf(url)]).toEqual([url, expect.stringMatching(/^must/)]);
    }
  });

  it('allows public addresses', () => {
    const urls = ['https://example.com/hook', 'https://example.com:8443/a?b=c', 'http://93.184.215.14/', 'https://[2606:2800:21f:cb07::1]/'];
    for (const url of urls) expect([url, strict().faultOf(url)]).toEqual([url, undefined]);
    for (const address of ['8.8.8.8', '93.184.215.14', '2606:4700:4700::1111']) expect([address, isPublic(address)]).toEqual([address, true]);
  });

  it('requires https if configured', () => {
    const guard = new TargetGuard({ httpsOnly: true, allowed: [] }, resolve);
    expect(guard.faultOf('http://example.com/')).toBe('must be an https URL');
    expect(guard.faultOf('https://example.com/')).toBeUndefined();
  });

  it('is not deceived by a name that resolves differently the second time', async () => {
    const before = sentinel.connections;
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['127.0.0.1']];
    let asked = 0;
    const guard = new TargetGuard({ httpsOnly: false, allowed: [] }, async () => answers[asked++] ?? []);
    const url = `http://rebinding.attacker.test:${sentinel.port}/`;
    expect(await guard.addressesOf(new URL(url))).toEqual(['93.184.215.14']);
    expect(await send(guard, url)).toMatchObject({ error: 'The URL leads to an address that is not public.' });
    // An attempt resolves the name once, and connects to that address.
    expect(asked).toBe(2);
    expect(sentinel.connections).toBe(before);
  });

  it('checks the connected address before a byte is written', async () => {
    class Deceived extends TargetGuard {
      override addressesOf = async (): Promise<string[]> => ['127.0.0.1'];
    }
    const before = sentinel.received.length;
    const guard = new Deceived({ httpsOnly: false, allowed: [] }, resolve);
    expect(await send(guard, `http://deceiving.attacker.test:${sentinel.port}/`)).toMatchObject({
      error: 'The URL leads to an address that is not public.',
    });
    expect(sentinel.received).toHaveLength(before);
  });

  it('ignores proxies of the environment', async () => {
    const before = sentinel.connections;
    const proxy = `http://127.0.0.1:${sentinel.port}`;
    const original = { ...process.env };
    Object.assign(process.env, { HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NODE_USE_ENV_PROXY: '1' });
    const receiver = await Receiver.start();
    try {
      const allowing = new TargetGuard({ httpsOnly: false, allowed: ['127.0.0.1:*'] }, resolve);
      expect(await send(allowing, receiver.url)).toMatchObject({ status: 204 });
      expect(sentinel.connections).toBe(before);
    } finally {
      process.env = original;
      await receiver.stop();
    }
  });
});
