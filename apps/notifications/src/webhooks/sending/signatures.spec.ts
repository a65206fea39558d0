import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newSecret } from '../endpoints/signing-secrets.js';
import { signedHeaders } from './webhook-sender.js';

const body = '{"event":"order.status_changed","data":{"trackingNumber":"grün ☘"}}';
const id = '0190b6a2-9c31-7b52-8f10-1a2b3c4d5e6f';

describe('a signature', () => {
  it('is accepted by the library of Standard Webhooks, for exactly these bytes', () => {
    const secret = newSecret();
    const headers = signedHeaders(id, new Date(), body, [secret]);
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
    expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': `${id}0` })).toThrow();
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
  });

  it('is made with each secret, so that receivers with either of them accept it', () => {
    const secrets = [newSecret(), newSecret()];
    const headers = signedHeaders(id, new Date(), body, secrets);
    expect(headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
    for (const secret of secrets) new Webhook(secret).verify(body, headers);
  });

  it('has the time of the attempt in seconds; a secret has 32 random bytes', () => {
    expect(signedHeaders(id, new Date(1_800_000_000_999), body, [])['webhook-timestamp']).toBe('1800000000');
    const secrets = Array.from({ length: 10 }, newSecret);
    expect(new Set(secrets).size).toBe(10);
    for (const one of secrets) expect(Buffer.from(one.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
  });
});
