import { describe, expect, it } from '@jest/globals';
import { refusedPermissions } from './refused-permissions.js';

const answer = (status: number, scope?: string): Response =>
  new Response(null, { status, headers: scope === undefined ? {} : { 'www-authenticate': `Bearer realm="plant-shop", error="insufficient_scope", scope="${scope}"` } });

describe('the permissions that the user lacks', () => {
  it('are those that a refusal names', () => {
    expect(refusedPermissions(answer(403, 'write:users read:stock write:stock'))).toEqual(new Set(['write:users', 'write:stock']));
  });

  it.each([answer(200), answer(403), answer(401, 'write:users')])('are not known from other answers', (response) => {
    expect(refusedPermissions(response)).toEqual(new Set());
  });
});
