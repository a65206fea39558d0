import { describe, expect, it } from '@jest/globals';
import { IdempotencyKey } from './idempotency-key.js';

const payload = Buffer.from('{"plantId":1}');
const key = (changes: { subject?: string; key?: string; operation?: string; payload?: Buffer } = {}): IdempotencyKey =>
  new IdempotencyKey(changes.subject ?? 'ada', changes.key ?? 'key-1', changes.operation ?? 'store.placeOrder', changes.payload ?? payload);

describe('an Idempotency-Key', () => {
  it('is the same for the same principal, and another one for another principal', () => {
    expect(key().id).toBe(key().id);
    expect(key().id).not.toBe(key({ subject: 'grace' }).id);
    expect(key().id).not.toBe(key({ key: 'key-2' }).id);
  });

  it('opens what it sealed, and nothing else does', () => {
    const answer = { value: { id: 7 }, facts: { version: 1 } };
    const sealed = key().seal(answer);
    expect(key().open(key().fingerprint, sealed)).toEqual(answer);
    expect(() => key({ key: 'key-2' }).open(key({ key: 'key-2' }).fingerprint, sealed)).toThrow();
    expect(() => key({ subject: 'grace' }).open(key({ subject: 'grace' }).fingerprint, sealed)).toThrow();
    const forged = Buffer.from(sealed);
    forged[14] = (forged[14] ?? 0) ^ 1;
    expect(() => key().open(key().fingerprint, forged)).toThrow();
  });

  it.each([
    ['payload', { payload: Buffer.from('{}') }],
    ['operation', { operation: 'store.cancelOrder' }],
  ])('refuses to answer a request with another %s', (_, changes) => {
    const other = key(changes);
    expect(() => key().open(other.fingerprint, other.seal({}))).toThrow(expect.objectContaining({ code: 'idempotency-key-reused' }));
  });

  it('answers a request that was said in other bytes, where they are known', () => {
    const [asBefore, asNow] = [Buffer.from('as before'), Buffer.from('as now')];
    const saved = key().forRequest(asBefore);
    const sealed = saved.seal('answer');
    expect(key().forRequest(asNow, [asBefore]).open(saved.fingerprint, sealed)).toBe('answer');
    expect(() => key().forRequest(asNow).open(saved.fingerprint, sealed)).toThrow(expect.objectContaining({ code: 'idempotency-key-reused' }));
  });

  it('stores nothing that shows the key, the request or the answer', () => {
    const one = key({ key: 'canary-key', payload: Buffer.from('{"password":"canary-body"}') });
    const stored = Buffer.concat([one.hash, one.fingerprint, one.seal({ token: 'canary-answer' })]).toString('latin1');
    expect(stored).not.toContain('canary');
    expect(one.seal('x')).not.toEqual(one.seal('x'));
  });
});
