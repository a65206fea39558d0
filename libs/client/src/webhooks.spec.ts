import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { signTestWebhook, verifyWebhook, WebhookRefused } from './webhooks.js';

const secret = `whsec_${btoa('one secret of thirty-two bytes!!')}`;
const next = `whsec_${btoa('another secret of thirty-two by!')}`;
const body = JSON.stringify({ event: 'order.status_changed', timestamp: '2027-03-01T08:00:01.000Z', data: { orderId: 7, plantId: 3, previousStatus: 'placed', newStatus: 'approved', trackingNumber: '' } });
const now = 1_900_000_000_000;

/** Headers as the shop sends them, with a signature for each valid secret. */
function delivery({ secrets = [secret], at = now, text = body }: { secrets?: readonly string[]; at?: number; text?: string } = {}) {
  const sentAt = new Date(at);
  const signature = secrets.map((one) => new Webhook(one).sign('id-1', sentAt, text)).join(' ');
  return { 'webhook-id': 'id-1', 'webhook-timestamp': `${Math.floor(at / 1_000)}`, 'webhook-signature': signature };
}

function faultOf(work: () => unknown): Partial<WebhookRefused> {
  try {
    work();
  } catch (error) {
    if (error instanceof WebhookRefused) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('a delivery', () => {
  it('that the shop signed yields its event and id', () => {
    const verified = verifyWebhook(delivery(), body, secret, { now });
    expect(verified).toMatchObject({ id: 'id-1', event: { event: 'order.status_changed' }, sentAt: new Date(now) });
    if (verified.event.event === 'order.status_changed') expect(verified.event.data.newStatus).toBe('approved');
  });

  it('is accepted as bytes and with Headers, with characters beyond ASCII', () => {
    const text = JSON.stringify({ event: 'webhook.test', timestamp: 'x', data: { webhookId: 'Gänseblümchen 🌼' } });
    expect(verifyWebhook(new Headers(delivery({ text })), new TextEncoder().encode(text), [secret], { now }).event).toEqual(JSON.parse(text));
  });

  it('is accepted with either secret during a rotation', () => {
    const headers = delivery({ secrets: [secret, next] });
    for (const secrets of [secret, next, [next, secret]]) expect(verifyWebhook(headers, body, secrets, { now }).id).toBe('id-1');
    expect(verifyWebhook(delivery({ secrets: [next] }), body, [secret, next], { now }).id).toBe('id-1');
  });

  const named = (name: (original: string) => string, value: (original: string) => string | string[] = (one) => one) =>
    Object.fromEntries(Object.entries(delivery({ secrets: [next, secret] })).map(([key, text]) => [name(key), value(text)]));
  it.each([
    ['capitals', named((one) => one.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()))],
    ['upper case', named((one) => one.toUpperCase())],
    ['values in lists', named((one) => one, (text) => [text])],
    ['a list of signatures', named((one) => one, (text) => text.split(' '))],
    ['capitals in a Map', new Map(Object.entries(named((one) => one.toUpperCase(), (text) => [text])))],
    ['Headers', new Headers(delivery())],
  ])('is accepted with %s', (_, headers) => {
    expect(verifyWebhook(headers, body, secret, { now }).id).toBe('id-1');
  });

  it.each([
    ['an empty second secret', [secret, '']],
    ['an empty first secret', ['', secret]],
    ['a malformed second secret', [secret, 'whsec_*']],
    ['a missing second secret', [secret, undefined as unknown as string]],
  ])('is accepted despite %s', (_, secrets) => {
    expect(verifyWebhook(delivery(), body, secrets, { now }).id).toBe('id-1');
    expect(faultOf(() => verifyWebhook(delivery({ secrets: [next] }), body, secrets, { now })).fault).toBe(secrets.includes('whsec_*') ? 'secret' : 'signature');
  });

  it.each([
    ['without a signature', () => ({ ...delivery(), 'webhook-signature': undefined }), body, secret, 'headers'],
    ['with an invalid timestamp', () => ({ ...delivery(), 'webhook-timestamp': 'now' }), body, secret, 'headers'],
    ['signed with another secret', () => delivery({ secrets: [next] }), body, secret, 'signature'],
    ['whose body was changed', () => delivery(), body.replace('approved', 'delivered'), secret, 'signature'],
    ['whose time was changed', () => ({ ...delivery(), 'webhook-timestamp': '1900000001' }), body, secret, 'signature'],
    ['whose id was changed', () => ({ ...delivery(), 'webhook-id': 'id-2' }), body, secret, 'signature'],
    ['without a secret to compare with', () => delivery(), body, [], 'signature'],
    ['with a malformed secret', () => delivery(), body, 'whsec_*', 'secret'],
    ['with an empty secret', () => delivery(), body, '', 'secret'],
    ['with two ids', () => ({ ...delivery(), 'Webhook-Id': 'id-2' }), body, secret, 'signature'],
    ['that is not JSON', () => delivery({ text: '<html>' }), '<html>', secret, 'body'],
  ] as const)('%s is refused', (_, headers, text, secrets, fault) => {
    expect(faultOf(() => verifyWebhook(headers(), text, secrets, { now })).fault).toBe(fault);
  });

  it('is accepted only within the tolerance, and the error tells the difference between the clocks', () => {
    const check = (at: number, toleranceSeconds?: number): unknown => verifyWebhook(delivery({ at }), body, secret, { now, ...(toleranceSeconds !== undefined && { toleranceSeconds }) });
    check(now - 299_000);
    check(now + 299_000);
    check(now - 3_000_000, 3_600);
    expect(faultOf(() => check(now - 301_000))).toMatchObject({ fault: 'too-old', ageSeconds: 301 });
    expect(faultOf(() => check(now + 301_000))).toMatchObject({ fault: 'too-new', ageSeconds: -301 });
    expect(faultOf(() => check(now - 11_000, 10)).fault).toBe('too-old');
  });
});

describe('a signed test delivery', () => {
  it('is accepted like one of the shop, with the same headers', () => {
    const headers = signTestWebhook({ payload: body, secret, id: 'id-1', timestamp: now / 1_000 });
    expect(headers).toEqual(delivery());
    expect(verifyWebhook(headers, body, secret, { now })).toMatchObject({ id: 'id-1', sentAt: new Date(now), event: JSON.parse(body) as object });
  });

  it('is signed now, with a new id, by default', () => {
    const [one, other] = [signTestWebhook({ payload: body, secret }), signTestWebhook({ payload: body, secret })];
    expect(verifyWebhook(one, body, secret).id).toMatch(/^[\da-f-]{36}$/);
    expect(verifyWebhook(other, body, secret).id).not.toBe(one['webhook-id']);
    expect(faultOf(() => verifyWebhook(one, `${body} `, secret)).fault).toBe('signature');
    expect(faultOf(() => verifyWebhook(one, body, next)).fault).toBe('signature');
  });

  it('can be too old, and needs a secret of the shop’s form', () => {
    const headers = signTestWebhook({ payload: body, secret, timestamp: now / 1_000 - 301 });
    expect(faultOf(() => verifyWebhook(headers, body, secret, { now })).fault).toBe('too-old');
    for (const wrong of ['', 'whsec_*']) expect(faultOf(() => signTestWebhook({ payload: body, secret: wrong })).fault).toBe('secret');
  });
});
