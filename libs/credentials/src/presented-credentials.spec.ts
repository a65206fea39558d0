import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { digestOf, presentedCredentialsOf } from './presented-credentials.js';

/** Headers as Node presents them: repeated ones joined, but only the first Authorization. */
function requestWith(...headers: readonly (readonly [string, string])[]): Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'socket'> {
  const joined: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (joined[name] === undefined) joined[name] = value;
    else if (name !== 'authorization') joined[name] += `, ${value}`;
  }
  return { headers: joined, rawHeaders: headers.flat(), socket: new Socket() };
}

describe('the credentials of a request', () => {
  it('are undefined without any of the headers', () => {
    expect(presentedCredentialsOf(requestWith(['accept', '*/*']))).toBeUndefined();
  });

  it('are returned as digests, never as secrets', () => {
    const presented = presentedCredentialsOf(requestWith(['api_key', 'special-key'], ['session_token', 's3cret']));
    expect(presented).toEqual({ apiKey: digestOf('special-key'), session: digestOf('s3cret') });
    expect(JSON.stringify(presented)).not.toMatch(/special-key|s3cret/);
  });

  it('contain a bearer token as a session or as a JWT, by its form', () => {
    expect(presentedCredentialsOf(requestWith(['authorization', 'Bearer abc']))).toEqual({ session: digestOf('abc') });
    expect(presentedCredentialsOf(requestWith(['authorization', 'bearer  a.b.c']))).toEqual({ accessToken: { jwt: 'a.b.c', digest: digestOf('a.b.c') } });
  });

  it('may have an API key in the query where the route allows it, but not in the header as well', () => {
    expect(presentedCredentialsOf(requestWith(), 'special-key')).toEqual({ apiKey: digestOf('special-key') });
    expect(() => presentedCredentialsOf(requestWith(['api_key', 'special-key']), 'special-key')).toThrow(
      expect.objectContaining({ code: 'unauthorized' }),
    );
  });

  it('are those of each request, also when a connection carries several clients or several kinds', () => {
    const { socket } = requestWith();
    const on = (...headers: readonly (readonly [string, string])[]): unknown => presentedCredentialsOf({ ...requestWith(...headers), socket });
    for (const secret of ['first', 'second', 'second', 'first']) expect(on(['api_key', secret])).toEqual({ apiKey: digestOf(secret) });
    expect(on(['api_key', 'first'], ['session_token', 'second'])).toEqual({ apiKey: digestOf('first'), session: digestOf('second') });
    expect(on()).toBeUndefined();
  });

  it('may have one of each kind', () => {
    const presented = presentedCredentialsOf(requestWith(['authorization', 'Bearer a.b.c'], ['api_key', 'k'], ['session_token', 's']));
    expect(Object.keys(presented ?? {}).sort()).toEqual(['accessToken', 'apiKey', 'session']);
  });

  it.each<[string, readonly (readonly [string, string])[]]>([
    ['two session tokens', [['authorization', 'Bearer s1'], ['session_token', 's2']]],
    ['the same session token twice', [['authorization', 'Bearer s'], ['session_token', 's']]],
    ['two API keys', [['api_key', 'a'], ['api_key', 'b']]],
    ['two Authorization headers', [['authorization', 'Bearer a'], ['authorization', 'Bearer b']]],
    ['an empty API key', [['api_key', '']]],
    ['an empty bearer token', [['authorization', 'Bearer ']]],
    ['another scheme', [['authorization', 'Basic dTpw']]],
    ['no scheme', [['authorization', 'abc']]],
    ['an API key with a space', [['api_key', 'a b']]],
    ['an API key that is not ASCII', [['api_key', 'schlüssel']]],
    ['an API key of 513 characters', [['api_key', 'a'.repeat(513)]]],
    ['a bearer token with a space', [['authorization', 'Bearer a b']]],
    ['a JWT of more than 8 KiB', [['authorization', `Bearer a.${'b'.repeat(8_192)}.c`]]],
  ])('are refused as unauthorized: %s', (_, headers) => {
    expect(() => presentedCredentialsOf(requestWith(...headers))).toThrow(expect.objectContaining({ code: 'unauthorized' }));
  });
});
