import { describe, expect, it } from '@jest/globals';
import { requestIdOf } from './http/request.js';

const given = (id?: string | string[]) => requestIdOf({ headers: id === undefined ? {} : { 'x-request-id': id } });
const generated = /^[0-9a-f-]{36}$/;

describe("a request's id", () => {
  it('is the one that the client sent', () => {
    expect(given('A.b_c-9')).toBe('A.b_c-9');
    expect(given('x'.repeat(128))).toBe('x'.repeat(128));
  });

  it.each([[undefined], [''], ['x'.repeat(129)], ['a b'], ['a"b'], ['ä'], ['a\nb'], [['a', 'b']]])('is generated instead of %j', (id) => {
    expect(given(id)).toMatch(generated);
    expect(given(id)).not.toBe(given(id));
  });
});
