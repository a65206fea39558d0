import { describe, expect, it } from '@jest/globals';
import { isAllowedOrigin, loopback } from './cors.js';

describe('origins whose pages may read answers', () => {
  it.each(['http://localhost:3000', 'http://localhost', 'https://localhost:8443', 'http://127.0.0.1:5173', 'http://[::1]:3000'])(
    'loopback allows %s',
    (origin) => expect(isAllowedOrigin(origin, [loopback])).toBe(true),
  );

  it.each([
    'http://localhost.evil.example',
    'http://evil.example/localhost',
    'http://localhost:3000.evil.example',
    'http://localhost@evil.example',
    'http://127.0.0.1.evil.example',
    'http://127.0.0.2:3000',
    'http://evil-localhost',
    'file://localhost',
    'null',
    '',
  ])('loopback does not allow %s', (origin) => expect(isAllowedOrigin(origin, [loopback])).toBe(false));

  it('are those listed, all with *, and none by default', () => {
    expect(isAllowedOrigin('https://shop.example', ['https://shop.example'])).toBe(true);
    expect(isAllowedOrigin('https://shop.example:444', ['https://shop.example'])).toBe(false);
    expect(isAllowedOrigin('http://localhost:3000', ['https://shop.example'])).toBe(false);
    expect(isAllowedOrigin('https://any.example', ['*'])).toBe(true);
    expect(isAllowedOrigin('http://localhost', [])).toBe(false);
  });
});
