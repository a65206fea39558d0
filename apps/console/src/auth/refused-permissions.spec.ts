import { describe, expect, it } from '@jest/globals';
import { withoutRefused } from './refused-permissions.js';

const person = { username: 'ada', permissions: new Set(['write:users', 'write:stock', 'webhooks'] as const) };
const answer = (status: number, scope?: string): Response =>
  new Response(null, { status, headers: scope === undefined ? {} : { 'www-authenticate': `Bearer realm="plant-shop", error="insufficient_scope", scope="${scope}"` } });

describe('the permissions of the user', () => {
  it('lose those that the shop refused, and no others', () => {
    expect(withoutRefused(person, answer(403, 'write:users write:stock')).permissions).toEqual(new Set(['webhooks']));
  });

  it.each([answer(200), answer(403), answer(401, 'write:users'), answer(403, 'write:plants')])('are unchanged unless the shop refuses one of them', (response) => {
    expect(withoutRefused(person, response)).toBe(person);
  });
});
