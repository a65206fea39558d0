import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { credsAuthenticator, nkeys } from '@nats-io/transport-node';
import { certificateFor } from '@plant-shop/testing/certificate';
import { freePort } from '@plant-shop/testing/port';
import { until } from '@plant-shop/testing/until';
import { ExportShop, TestBroker } from './export.spec.fixture.js';

const anyName = { DESTINATION_ALLOWED_TARGETS: '127.0.0.1:*,localhost:*' };

describe('a destination whose broker', () => {
  const standard = tls.getCACertificates('default');
  let test: ExportShop;
  let broker: TestBroker;
  let folder: string;
  beforeAll(async () => {
    test = await ExportShop.open();
    folder = await mkdtemp(join(tmpdir(), 'test-certificates-'));
  });
  afterEach(async () => {
    tls.setDefaultCACertificates(standard);
    await test.reset();
    await broker.stop();
  });
  afterAll(async () => {
    await test.close();
    await rm(folder, { recursive: true });
  });

  const ids = (): string[] => test.shop.feed.map(({ id }) => id);

  /** The server's configuration with a certificate. */
  async function securedBy({ key, cert }: { readonly key: string; readonly cert: string }, more = ''): Promise<string> {
    const place = join(folder, crypto.randomUUID());
    await writeFile(`${place}.key`, key);
    await writeFile(`${place}.pem`, cert);
    return `tls { cert_file: "${place}.pem", key_file: "${place}.key" }\n${more}`;
  }

  it('has a certificate that is not trusted, or of another name, is held until it has a right one (slow)', async () => {
    const [untrusted, ofAnother, right] = [certificateFor('DNS:localhost'), certificateFor('DNS:broker.example'), certificateFor('DNS:localhost', 'IP:127.0.0.1')];
    tls.setDefaultCACertificates([...standard, ofAnother.cert, right.cert]);
    broker = await TestBroker.start(await securedBy(untrusted, 'allow_non_tls: true'));
    await broker.addStream();
    await test.start(anyName);
    const destination = await test.create(broker, { url: broker.nats.url.replace('nats://127.0.0.1', 'tls://localhost') });
    test.shop.move(5);
    await test.isHeld(destination, 'unreachable', /not valid: self-signed certificate\.$/);
    await broker.reconfigure(await securedBy(ofAnother, 'allow_non_tls: true'));
    await test.isHeld(destination, 'unreachable', /does not match certificate's altnames/);
    expect(await broker.messages()).toEqual([]);
    await broker.reconfigure(await securedBy(right, 'allow_non_tls: true'));
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
    // A certificate may be of an address.
    await test.replace(destination, { url: broker.nats.url.replace('nats:', 'tls:') });
    test.shop.move(5);
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 60_000);

  it('has a certificate of a private CA is trusted by DESTINATION_CA, once the file is there (slow)', async () => {
    const certificate = certificateFor('DNS:localhost');
    broker = await TestBroker.start(await securedBy(certificate, 'allow_non_tls: true'));
    await broker.addStream();
    const ca = join(folder, 'brokers.pem');
    await test.start({ ...anyName, DESTINATION_CA: ca });
    const destination = await test.create(broker, { url: broker.nats.url.replace('nats://127.0.0.1', 'tls://localhost') });
    test.shop.move(5);
    await test.isHeld(destination, 'unreachable', /brokers\.pem/);
    await writeFile(ca, certificateFor('DNS:localhost').cert);
    await test.isHeld(destination, 'unreachable', /not valid: self-signed certificate\.$/);
    await writeFile(ca, certificate.cert);
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 30_000);

  it('wants TLS while the address does not is held until it does (slow)', async () => {
    const certificate = certificateFor('IP:127.0.0.1');
    tls.setDefaultCACertificates([...standard, certificate.cert]);
    broker = await TestBroker.start(await securedBy(certificate));
    await test.start();
    const destination = await test.create(broker);
    test.shop.move(1);
    await test.isHeld(destination, 'unreachable', /wants TLS/);
    await test.replace(destination, { url: broker.nats.url.replace('nats:', 'tls:') });
    await test.isHeld(destination, 'stream-missing');
  }, 30_000);

  it('has no TLS while the address wants it gets no credentials (slow)', async () => {
    broker = await TestBroker.start();
    const port = await freePort();
    let received = '';
    const sockets = new Set<Socket>();
    const plain = createServer((socket) => {
      sockets.add(socket.on('data', (data) => (received += data.toString())).on('error', () => undefined));
      socket.write('INFO {"server_id":"a","version":"2.10.0","proto":1,"headers":true,"max_payload":1000000}\r\n');
    }).listen(port, '127.0.0.1');
    await test.start();
    const destination = await test.create(broker, { url: `tls://127.0.0.1:${port}`, credentials: { user: 'shop', password: 'very-secret' } });
    test.shop.move(1);
    await test.isHeld(destination, 'unreachable', /tls/);
    await until(() => Promise.resolve(sockets.size > 1));
    expect(received).toBe('');
    for (const socket of sockets) socket.destroy();
    plain.close();
  }, 30_000);

  it('refuses a user or what it may do, before and during a connection, is held until it does not (slow)', async () => {
    const users = (permissions = ''): string => `
      accounts { SHOP { jetstream: enabled, users: [
        { user: shop, password: password ${permissions} }
        { user: owner, password: password }
      ] } }`;
    broker = await TestBroker.start(users());
    broker.access = { user: 'owner', pass: 'password' };
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker, { credentials: { user: 'shop', password: 'wrong' } });
    test.shop.move(1);
    await test.isHeld(destination, 'unauthorized');
    await test.replace(destination, { credentials: { user: 'shop', password: 'password' } });
    await test.isUpToDate(destination);
    await broker.reconfigure(users().replace('shop, password: password', 'shop, password: changed'));
    test.shop.move(1);
    await test.isHeld(destination, 'unauthorized');
    // Its own stay, so does the refusal.
    await test.replace(destination, {});
    await test.isHeld(destination, 'unauthorized');
    await broker.reconfigure(users(', permissions: { publish: { deny: "shop.events.>" } }'));
    await test.replace(destination, {});
    await test.isHeld(destination, 'unauthorized');
    await broker.reconfigure(users());
    await test.replace(destination, {});
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 60_000);

  it('wants credentials gets them also under a new key, and then the former key can be removed (slow)', async () => {
    const [former, present] = ['the former secret of 32 characters and more', 'the present secret of 32 characters and more'];
    broker = await TestBroker.start('authorization { token: "right" }');
    broker.access = { token: 'right' };
    await broker.addStream();
    const first = await test.start({ NOTIFICATIONS_SECRET: former });
    const destination = await test.create(broker, { credentials: { token: 'right' } });
    const keyOf = async (): Promise<string | undefined> => (await test.shop.sql.query<{ key_id: string }>('SELECT key_id FROM destinations')).rows[0]?.key_id;
    const before = await keyOf();
    await first.stop();
    const second = await test.start({ NOTIFICATIONS_SECRET: `${present}, ${former}` });
    await until(async () => (await keyOf()) !== before);
    await second.stop();
    await test.start({ NOTIFICATIONS_SECRET: present });
    test.shop.move(1);
    await test.isUpToDate(destination);
    expect(await broker.ids()).toEqual(ids());
  }, 60_000);

  it('is another than before gets no credentials, and they are never shown (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    await test.start(anyName);
    const destination = await test.create(broker, { credentials: { user: 'shop', password: 'very-secret' } });
    expect(destination.hasCredentials).toBe(true);
    expect(JSON.stringify(destination)).not.toContain('secret');
    const moved = await test.replace(destination, { url: broker.nats.url.replace('127.0.0.1', 'localhost') });
    expect(moved.hasCredentials).toBe(false);
  }, 30_000);

  it('refuses or revokes a token is held until it has the right one (slow)', async () => {
    const withToken = (token: string): string => `authorization { token: "${token}" }`;
    broker = await TestBroker.start(withToken('first'));
    broker.access = { token: 'first' };
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker, { credentials: { token: 'wrong' } });
    test.shop.move(1);
    await test.isHeld(destination, 'unauthorized');
    await test.replace(destination, { credentials: { token: 'first' } });
    await test.isUpToDate(destination);
    await broker.reconfigure(withToken('second'));
    broker.access = { token: 'second' };
    test.shop.move(3);
    await test.isHeld(destination, 'unauthorized');
    await test.replace(destination, { credentials: { token: 'second' } });
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 40_000);

  it('refuses a .creds file, or ends one, is held until it has one that counts (slow)', async () => {
    const authority = new Authority();
    broker = await TestBroker.start(authority.config());
    broker.access = { authenticator: credsAuthenticator(Buffer.from(authority.creds())) };
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker, { credentials: { creds: 'no such file' } });
    test.shop.move(2);
    await test.isHeld(destination, 'unauthorized', /creds file/);
    await test.replace(destination, { credentials: { creds: new Authority().creds() } });
    await test.isHeld(destination, 'unauthorized', /Authorization/);
    await test.replace(destination, { credentials: { creds: authority.creds(3) } });
    await test.isUpToDate(destination);
    // It ends while the destination is connected.
    await test.isHeld(destination, 'unauthorized', /expired/i);
    test.shop.move(2);
    await test.shop.isLogged();
    expect(await broker.ids()).toHaveLength(2);
    const revoked = nkeys.createUser();
    await test.replace(destination, { credentials: { creds: authority.creds(undefined, revoked) } });
    await test.isUpToDate(destination);
    await broker.reconfigure(authority.config([revoked.getPublicKey()]));
    test.shop.move(2);
    await test.isHeld(destination, 'unauthorized');
    await test.replace(destination, { credentials: { creds: authority.creds() } });
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 60_000);
});

const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };

/** An operator with an account, as `nsc` makes them, whose users have `.creds` files. */
class Authority {
  private readonly operator = nkeys.createOperator();
  private readonly account = nkeys.createAccount();
  private readonly system = nkeys.createAccount();
  private readonly ofOperator = this.signed(this.operator, { type: 'operator' });
  private readonly ofSystem = this.signed(this.system, { type: 'account', limits });

  /** The server's configuration. @param revoked users that count no more */
  config(revoked: readonly string[] = []): string {
    const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const revocations = Object.fromEntries(revoked.map((user) => [user, nowSeconds() + 60]));
    const ofAccount = this.signed(this.account, { type: 'account', limits: { ...limits, ...storage }, revocations });
    return `operator: ${this.ofOperator}
      system_account: ${this.system.getPublicKey()}
      resolver: MEMORY
      resolver_preload: { ${this.account.getPublicKey()}: ${ofAccount}, ${this.system.getPublicKey()}: ${this.ofSystem} }`;
  }

  /** The text of a file. @param seconds how long it counts; absent: always */
  creds(seconds?: number, user = nkeys.createUser()): string {
    const token = this.signed(user, { type: 'user', subs: -1, data: -1, payload: -1 }, this.account, seconds);
    const seed = new TextDecoder().decode(user.getSeed());
    return `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
  }

  private signed(subject: ReturnType<typeof nkeys.createUser>, claims: object, issuer = this.operator, seconds?: number): string {
    const iat = nowSeconds();
    const payload = { jti: crypto.randomUUID(), iat, ...(seconds !== undefined && { exp: iat + seconds }), iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name: 'test', nats: { version: 2, ...claims } };
    const text = [{ typ: 'JWT', alg: 'ed25519-nkey' }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
  }
}

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
