import { describe, expect, it } from '@jest/globals';
import { addressOf } from './address.js';

describe('the address of a database', () => {
  const ca = '/run/secrets/shop/database ca';

  it.each([[undefined], ['']])('is unchanged without a CA file', (none) => {
    const url = 'postgresql://store:p%40ss@db:5432/store?sslmode=disable';
    expect(addressOf({ url, ...(none !== undefined && { ca: none }) })).toBe(url);
  });

  it.each(['', '?sslmode=disable', '?ssl=0', '?sslmode=no-verify', '?sslmode=require&uselibpqcompat=true', '?sslrootcert=%2Fanother'])(
    'with a CA file requires a certificate of these CAs, for any TLS parameters of its own: %s',
    (parameters) => {
      const { href, searchParams } = new URL(addressOf({ url: `postgresql://store:p%40ss@db:5432/store${parameters}`, ca }));
      expect(href).toMatch(/^postgresql:\/\/store:p%40ss@db:5432\/store\?/);
      expect(Object.fromEntries(searchParams)).toEqual({ sslmode: 'verify-full', sslrootcert: ca });
    },
  );

  it('keeps its other parameters', () => {
    const url = 'postgresql://store@db/store?sslcert=%2Fown.crt';
    expect(new URL(addressOf({ url, ca })).searchParams.get('sslcert')).toBe('/own.crt');
  });
});
