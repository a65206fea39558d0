import { describe, expect, it } from '@jest/globals';
import { addressOf } from './address.js';

describe('the address of a database', () => {
  const ca = '/run/secrets/shop/database ca';

  it.each([[undefined], ['']])('stays as it is without authorities of its own', (none) => {
    const url = 'postgresql://store:p%40ss@db:5432/store?sslmode=disable';
    expect(addressOf({ url, ...(none !== undefined && { ca: none }) })).toBe(url);
  });

  it.each(['', '?sslmode=disable', '?ssl=0', '?sslmode=no-verify', '?sslmode=require&uselibpqcompat=true', '?sslrootcert=%2Fanother'])(
    'asks for a certificate of theirs, whatever it says itself: %s',
    (parameters) => {
      const { href, searchParams } = new URL(addressOf({ url: `postgresql://store:p%40ss@db:5432/store${parameters}`, ca }));
      expect(href).toMatch(/^postgresql:\/\/store:p%40ss@db:5432\/store\?/);
      expect(Object.fromEntries(searchParams)).toEqual({ sslmode: 'verify-full', sslrootcert: ca });
    },
  );

  it('keeps what else it says', () => {
    const url = 'postgresql://store@db/store?sslcert=%2Fown.crt';
    expect(new URL(addressOf({ url, ca })).searchParams.get('sslcert')).toBe('/own.crt');
  });
});
