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
  it("grant the requested permissions, by default all of the user's", () => {
    expect(grantedPermissions(undefined, 'customer')).toEqual(['read:plants', 'write:orders', 'webhooks']);
    expect(grantedPermissions(['webhooks'], 'customer')).toEqual(['webhooks']);
    expect(grantedPermissions(undefined, 'admin')).toEqual(permissions);
  });

  it('grant no permission that the user lacks', () => {
    expect(() => grantedPermissions(['write:plants', 'webhooks'], 'customer')).toThrow(/write:plants\.$/);
    expect(() => grantedPermissions(['write:users'], 'staff')).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  it('limit a key to the permissions that its user still has', () => {
    expect(effectivePermissions(['write:plants', 'webhooks'], 'customer')).toEqual(['webhooks']);
    expect(effectivePermissions(['webhooks'], 'admin')).toEqual(['webhooks']);
  });

  it('let a key be replaced if it exists and is not being replaced', () => {
    expect(() => assertReplaceable({ isBeingReplaced: false })).not.toThrow();
    expect(() => assertReplaceable({ isBeingReplaced: true })).toThrow(
      expect.objectContaining({ code: 'too-many-api-keys' }),
    );
    expect(() => assertReplaceable(undefined)).toThrow(expect.objectContaining({ code: 'api-key-not-found' }));
  });

  it('log the end of a key only if it has no grace period', () => {
    expect(rotationRevocation('user', 'key', 0)).toEqual({ kind: 'apiKey', id: 'key' });
    expect(rotationRevocation('user', 'key', 1)).toEqual({ kind: 'userChanged', id: 'user' });
  });

  it('refuse an expiry that is not in the future', () => {
    const now = new Date('2026-05-01T10:00:00Z');
    expect(() => assertNotExpired({ name: 'k', expiresAt: '2026-05-01T12:00:00.000+02:00' }, now)).toThrow(
      expect.objectContaining({ code: 'invalid-input' }),
    );
    expect(() => assertNotExpired({ name: 'k', expiresAt: '2026-05-01T10:00:01Z' }, now)).not.toThrow();
    expect(() => assertNotExpired({ name: 'k' }, now)).not.toThrow();
  });
});
