import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, expectPage } from '@plant-shop/testing/browser';
import { type Database, databases, linkMailedTo, logFolder, rows, run } from '../internals.js';
import { NoAnswer, RawHttp } from '../raw-http.js';
import { createPlant, fresh, gatewayUrl, login, newCustomer, ok, send, setting, staff } from '../shop.js';
import { canaryRequests, openForms } from './canaries.js';

/** A secret and the encodings in which it might be stored or logged. */
interface Canary {
  readonly name: string;
  readonly forms: readonly string[];
}

const canaryOf = (name: string, secret: string): Canary => ({
  name,
  forms: [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64').replace(/=+$/, ''), Buffer.from(`:${secret}`).toString('base64').slice(2, -4)],
});
const occursIn = ({ forms }: Canary, text: string): boolean => forms.some((form) => text.includes(form));

describe('a secret that a client sent', () => {
  const http = new RawHttp(gatewayUrl());
  const stream = new RawHttp(setting('STREAM_URL'));
  const canaries: Canary[] = [];
  const leaks: string[] = [];
  /** Stored and shown, but not logged. */
  const address = canaryOf('an address', `canary${randomBytes(12).toString('hex')}`);

  beforeAll(async () => {
    const customer = await newCustomer();
    const { id: plantId } = await createPlant();
    await ok(send('POST', '/v3/store/order', { as: customer, json: { plantId, shipTo: { name: address.forms[0] } } }));
    const email = `${address.forms[0]}@shop.test`;
    await ok(send('PATCH', `/v3/user/${customer.username}`, { as: customer, json: { email } }));
    await ok(send('POST', `/v3/user/${customer.username}/emailVerification`, { as: customer }));
    await ok(send('POST', '/v3/recovery', { json: { email } }));
    const fixture = { plantId, ...customer, session: await login(customer.username, customer.password), fresh: () => fresh('canary'), ...(await openForms()) };
    for (const { name, request, inPath, toStream } of canaryRequests) {
      const secret = `canary${randomBytes(12).toString('hex')}`;
      const canary = canaryOf(name, secret);
      canaries.push(canary);
      const answer = await (toStream ? stream : http).send(request(secret, fixture), 15_000).catch((error: unknown) => {
        if (error instanceof NoAnswer && error.reason === 'closed') return undefined;
        throw error;
      });
      if (answer && answer.status >= 500 && answer.status !== 503) leaks.push(`${name}: ${answer.status}`);
      const body = answer?.body.toString() ?? '';
      const own = inPath ? body.replace(/"instance":"[^"]*"/, '') : body;
      const headers = [...(answer?.headers ?? [])].map(([header, value]) => (header === 'location' ? '' : value)).join();
      if (occursIn(canary, own + headers)) leaks.push(`${name}: ${answer?.status ?? ''} ${body}`);
    }
    canaries.push(...(await realSecrets()), ...(await mailedSecrets()));
    // Delayed writes, such as the last use of a key, are done by then.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }, 60_000);
  afterAll(() => {
    http.close();
    stream.close();
    process.stdout.write(`secrets: ${canaries.length} sent; searched for in responses, logs, metrics and every row of ${databases.length} databases\n`);
  });

  it('is in no response', () => {
    expect(leaks).toEqual([]);
  });

  it('is in no log', () => {
    const folder = logFolder();
    const logs = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
    expect(logs.map(({ name }) => name)).toEqual(expect.arrayContaining(['gateway.log', 'identity.log', 'postgres.log']));
    expect(logs.flatMap(({ name, text }) => [...canaries, address].filter((one) => occursIn(one, text)).map((one) => `${one.name} in ${name}`))).toEqual([]);
  });

  it('is in no metric', async () => {
    const { services } = run();
    const found: string[] = [];
    for (const [service, instances] of Object.entries(services)) {
      for (const { opsPort } of instances) {
        const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
        expect(text).toContain('process_cpu_seconds_total');
        found.push(...canaries.filter((one) => occursIn(one, text)).map((one) => `${one.name} in the metrics of ${service}`));
      }
    }
    expect(found).toEqual([]);
  });

  it.each(databases)('is in no row of the database of %s', async (database) => {
    const dump = await dumpOf(database);
    expect(dump.length).toBeGreaterThan(0);
    const found = dump.flatMap(({ table, text }) => canaries.filter((one) => occursIn(one, text)).map((one) => `${one.name} in ${table}`));
    expect([...new Set(found)]).toEqual([]);
  });

  it('would be found in a dump: a known name is', async () => {
    const name = fresh('Canary').slice(-40);
    await createPlant({ name });
    const dump = await dumpOf('catalog');
    expect(dump.some(({ text }) => occursIn(canaryOf('a name', name), text))).toBe(true);
  });
});

/** Valid credentials, which the shop must store in some form. */
async function realSecrets(): Promise<Canary[]> {
  const customer = await newCustomer();
  const password = `canary${randomBytes(12).toString('hex')}`;
  await ok(send('PUT', `/v3/user/${customer.username}`, { as: customer, json: { password } }));
  const session = await login(customer.username, password);
  const keys = `/v3/user/${customer.username}/apiKeys`;
  const made = await ok(send<{ id: string; key: string }>('POST', keys, { as: { bearer: session }, json: { name: 'canary' } }));
  const rotated = await ok(send<{ key: string }>('POST', `${keys}/${made.id}/rotation`, { as: { bearer: session }, json: {}, headers: { 'idempotency-key': fresh('canary') } }));
  const client = { name: 'canary', owner: 'admin', grantTypes: ['client_credentials'], scopes: ['read:orders'] };
  const app = await ok(send<{ clientId: string; secret: string }>('POST', '/v3/oauth/clients', { as: staff, json: client }));
  const rotatedSecret = await ok(send<{ secret: string }>('POST', `/v3/oauth/clients/${app.clientId}/rotateSecret`, { as: staff }));
  const webhook = { url: 'https://example.com/canary', eventTypes: ['order.status_changed'] };
  const hook = await ok(send<{ secret: string }>('POST', '/v3/webhooks', { as: { bearer: session }, json: webhook }));
  const form = { grant_type: 'client_credentials', client_id: 'plant-admin', client_secret: 'plant-secret' };
  const { access_token: token } = (await (await fetch(`${gatewayUrl()}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })).json()) as { access_token: string };
  await ok(send('GET', '/v3/store/inventory', { as: { apiKey: rotated.key, bearer: token } }));
  const { postgres, nats } = run();
  return [
    canaryOf('a valid password', password),
    canaryOf('a valid session', session),
    canaryOf('a valid key', made.key),
    canaryOf('a rotated key', rotated.key),
    canaryOf("a token's signature", token.split('.')[2] ?? token),
    canaryOf("a client's secret", 'plant-secret'),
    canaryOf("a new client's secret", app.secret),
    canaryOf("a client's rotated secret", rotatedSecret.secret),
    canaryOf("a webhook's secret", hook.secret),
    canaryOf("the bytes of a webhook's secret", Buffer.from(hook.secret.replace('whsec_', ''), 'base64').toString('hex')),
    canaryOf("the admin's password", 'admin-password'),
    ...[...Object.values(postgres.urls), ...Object.values(postgres.ownerUrls), postgres.adminUrl]
      .map((url) => new URL(url))
      .map(({ username, password }) => canaryOf(`the password of ${username} for Postgres`, password)),
    ...Object.entries(nats.users).map(([user, password]) => canaryOf(`the password of ${user} for NATS`, password)),
  ];
}

/** Codes of links in mails, and the password that was set with one. Both links are used. */
async function mailedSecrets(): Promise<Canary[]> {
  const customer = await newCustomer();
  const email = `${fresh('canary')}@shop.test`;
  await ok(send('PATCH', `/v3/user/${customer.username}`, { as: customer, json: { email } }));
  const verification = await linkMailedTo(email, /^Confirm/);
  const browser = new Browser(gatewayUrl());
  const submit = async (link: string, typed: Record<string, string> = {}): Promise<void> => {
    const page = expectPage(await browser.open(link));
    expect(expectPage(await browser.submit(page, page.forms[0]?.buttons[0] ?? '', typed)).status).toBe(200);
  };
  await submit(verification);
  await ok(send('POST', '/v3/recovery', { json: { email } }));
  const recovery = await linkMailedTo(email, /^A new password/);
  const password = `canary${randomBytes(12).toString('hex')}`;
  await submit(recovery, { password });
  await login(customer.username, password);
  const codeOf = (link: string): string => new URL(link).searchParams.get('code') ?? '';
  return [canaryOf('the code that verified an address', codeOf(verification)), canaryOf('the code that recovered an account', codeOf(recovery)), canaryOf('a recovered password', password)];
}

/** Every row of every table as text; bytea values are hexadecimal. */
async function dumpOf(database: Database): Promise<{ table: string; text: string }[]> {
  const tables = await rows<{ name: string }>(
    database,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  return Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await rows<{ text: string | null }>(database, `SELECT string_agg(t::text, E'\\n') AS text FROM ${name} t`);
      return { table: name, text: row?.text ?? '' };
    }),
  );
}
