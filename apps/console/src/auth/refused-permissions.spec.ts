import { describe, expect, it } from '@jest/globals';
import { withoutRefused } from './refused-permissions.js';

const person = { username: 'ada', permissions: new Set(['write:users', 'write:stock', 'webhooks'] as const) };
const answer = (status: number, scope?: string): Response =>
  new Response(null, { status, headers: scope === undefined ? {} : { 'www-authenticate': `Bearer realm="plant-shop", error="insufficient_scope", scope="${scope}"` } });

describe('permissions that the shop refuses', () => {
  it('are gone, and the others stay', () => {
    expect(withoutRefused(person, answer(403, 'write:users write:stock')).permissions).toEqual(new Set(['webhooks']));
  });

  it.each([answer(200), answer(403), answer(401, 'write:users'), answer(403, 'write:plants')])('without such a refusal the person is the same', (response) => {
    expect(withoutRefused(person, response)).toBe(person);
  });
});
