import { describe, expect, it } from '@jest/globals';
import { permissions } from '@plant-shop/contracts/permissions';
import {
  assertNotExpired,
  assertReplaceable,
  effectivePermissions,
  grantedPermissions,
  rotationRevocation,
} from './api-key.js';

describe('the rules of API keys', () => {
  it('grant what is asked, or all that the user may', () => {
    expect(grantedPermissions(undefined, 'customer')).toEqual(['read:plants', 'write:orders', 'webhooks']);
    expect(grantedPermissions(['webhooks'], 'customer')).toEqual(['webhooks']);
    expect(grantedPermissions(undefined, 'admin')).toEqual(permissions);
  });

  it('grant no more than the user may', () => {
    expect(() => grantedPermissions(['write:plants', 'webhooks'], 'customer')).toThrow(/write:plants\.$/);
    expect(() => grantedPermissions(['write:users'], 'staff')).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  it('count of a key only what its user may still do', () => {
    expect(effectivePermissions(['write:plants', 'webhooks'], 'customer')).toEqual(['webhooks']);
    expect(effectivePermissions(['webhooks'], 'admin')).toEqual(['webhooks']);
  });

  it('replace a key that is there and has no other half', () => {
    expect(() => assertReplaceable({ isBeingReplaced: false })).not.toThrow();
    expect(() => assertReplaceable({ isBeingReplaced: true })).toThrow(
      expect.objectContaining({ code: 'too-many-api-keys' }),
    );
    expect(() => assertReplaceable(undefined)).toThrow(expect.objectContaining({ code: 'api-key-not-found' }));
  });

  it('tell of an end only when there is one now', () => {
    expect(rotationRevocation('user', 'key', 0)).toEqual({ kind: 'apiKey', id: 'key' });
    expect(rotationRevocation('user', 'key', 1)).toEqual({ kind: 'userChanged', id: 'user' });
  });

  it('refuse a key that has expired before it begins', () => {
    const now = new Date('2026-05-01T10:00:00Z');
    expect(() => assertNotExpired({ name: 'k', expiresAt: '2026-05-01T12:00:00.000+02:00' }, now)).toThrow(
      expect.objectContaining({ code: 'invalid-input' }),
    );
    expect(() => assertNotExpired({ name: 'k', expiresAt: '2026-05-01T10:00:01Z' }, now)).not.toThrow();
    expect(() => assertNotExpired({ name: 'k' }, now)).not.toThrow();
  });
});
