import { describe, expect, it } from '@jest/globals';
import { IdempotencyKey } from './context.js';

const payload = Buffer.from('{"plantId":1}');
const key = (changes: { subject?: string; key?: string; operation?: string; payload?: Buffer } = {}): IdempotencyKey =>
  new IdempotencyKey(changes.subject ?? 'ada', changes.key ?? 'key-1', changes.operation ?? 'store.placeOrder', changes.payload ?? payload);

describe('an Idempotency-Key', () => {
  it('has one identity per principal', () => {
    expect(key().id).toBe(key().id);
    expect(key().id).not.toBe(key({ subject: 'grace' }).id);
    expect(key().id).not.toBe(key({ key: 'key-2' }).id);
  });

  it('decrypts what it encrypted, and no other key does', () => {
    const answer = { value: { id: 7 }, meta: { version: 1 } };
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

  it('answers a request whose answer was saved under another known serialisation', () => {
    const [old, current] = [Buffer.from('old'), Buffer.from('current')];
    const saved = key().forRequest(old);
    const sealed = saved.seal('answer');
    const reused = expect.objectContaining({ code: 'idempotency-key-reused' });
    expect(key().forRequest(current, [old]).open(saved.fingerprint, sealed)).toBe('answer');
    expect(() => key().forRequest(current).open(saved.fingerprint, sealed)).toThrow(reused);
  });

  it('stores neither the key nor the request nor the answer in readable form', () => {
    const one = key({ key: 'canary-key', payload: Buffer.from('{"password":"canary-body"}') });
    const stored = Buffer.concat([one.hash, one.fingerprint, one.seal({ token: 'canary-answer' })]).toString('latin1');
    expect(stored).not.toContain('canary');
    expect(one.seal('x')).not.toEqual(one.seal('x'));
  });

  it('still reads the rows that exist', () => {
    const one = key();
    expect(one.hash.toString('hex')).toBe('e02e6a6ad909224780992fde12ce28c4992a7f7c8abf76db5241eaef00860803');
    const fingerprint = Buffer.from('02ff6f82ba27f2c755535c8d39b04eddf1e2c8e59a21358722ef5cd927be661b', 'hex');
    const sealed = Buffer.from('01a5575c032325df70d3682e38e13a3c1af3ccb27133daa3a7070b03bd694868ecd267ef47aeaa634d9e77c47d35', 'hex');
    expect(one.open(fingerprint, sealed)).toEqual({ value: { id: 7 } });
    expect(one.seal({ value: { id: 7 } })).toHaveLength(sealed.length);
  });
});
