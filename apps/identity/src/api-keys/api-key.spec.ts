import { describe, expect, it } from '@jest/globals';
import type { DomainError } from '@plant-shop/contracts/errors';
import { type CredentialKind, type Permission, permissions, roles } from '@plant-shop/contracts/permissions';
import {
  assertMayReceive,
  assertNotExpired,
  assertReplaceable,
  effectivePermissions,
  grantedPermissions,
  rotationRevocation,
} from './api-key.js';

describe('the rules of API keys', () => {
  const all = { permissions };

  it("grant the requested permissions, by default a customer's as far as the creator has them", () => {
    for (const role of roles) expect(grantedPermissions(undefined, role, all)).toEqual(['read:plants', 'write:orders', 'webhooks']);
    expect(grantedPermissions(undefined, 'admin', { permissions: ['write:users', 'webhooks'] })).toEqual(['webhooks']);
    expect(grantedPermissions(['webhooks'], 'customer', all)).toEqual(['webhooks']);
  });

  it('grant no permission that the user lacks', () => {
    expect(() => grantedPermissions(['write:plants', 'webhooks'], 'customer', all)).toThrow(/write:plants\.$/);
    expect(() => grantedPermissions(['write:users'], 'staff', all)).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  it("hand a key only to those who have its permissions and may read orders, as every key may read its user's", () => {
    const outcome = (shown: CredentialKind, may: readonly Permission[], user: string, key: readonly Permission[]): string => {
      try {
        assertMayReceive({ subject: 'me', permissions: may, shown: [shown] }, user, key);
        return 'handed over';
      } catch (error) {
        return (error as DomainError).message;
      }
    };
    expect(outcome('apiKey', ['write:users', 'write:orders'], 'you', ['write:users'])).toBe('handed over');
    expect(outcome('apiKey', ['write:users', 'write:orders'], 'you', ['write:users', 'write:plants'])).toMatch(/write:plants/);
    expect(outcome('apiKey', ['write:users'], 'me', [])).toBe('handed over');
    expect(outcome('accessToken', ['write:users'], 'me', [])).toMatch(/read:orders/);
    expect(outcome('apiKey', ['write:users'], 'you', [])).toMatch(/read:orders/);
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
