import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { requestedRange } from './range.js';

const file = { bytes: 1_000, etag: '"v1"' };

describe('the requested range of a file', () => {
  it.each([
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=0-', { first: 0, last: 999 }],
    ['bytes=100-199', { first: 100, last: 199 }],
    ['bytes=900-5000', { first: 900, last: 999 }],
    ['bytes=-1', { first: 999, last: 999 }],
    ['bytes=-5000', { first: 0, last: 999 }],
    ['BYTES=5-7 ', { first: 5, last: 7 }],
  ])('%s lies within the file', (range, part) => {
    expect(requestedRange({ range }, file)).toEqual(part);
  });

  it.each(['bytes=1000-', 'bytes=1000-2000', 'bytes=-0', 'bytes=99999999999999999999-'])('%s lies beyond the end', (range) => {
    expect(requestedRange({ range }, file)).toBe('unsatisfiable');
  });

  it.each([undefined, '', 'bytes', 'bytes=', 'bytes=-', 'bytes=5-4', 'bytes=0-1,5-6', 'bytes=a-b', 'bytes=1.5-2', 'pages=1-2'])(
    '%s is not a single valid range: the whole file is sent',
    (range) => {
      expect(requestedRange({ range }, file)).toBe('whole');
    },
  );

  it('applies only to the version that If-Range names', () => {
    expect(requestedRange({ range: 'bytes=0-1', 'if-range': '"v1"' }, file)).toEqual({ first: 0, last: 1 });
    for (const other of ['"v2"', 'W/"v1"', 'Fri, 01 May 2026 00:00:00 GMT']) {
      expect(requestedRange({ range: 'bytes=0-1', 'if-range': other }, file)).toBe('whole');
    }
  });

  it('always lies within the file', () => {
    const number = fc.oneof(fc.nat(2_000).map(String), fc.bigInt({ min: 0n }).map(String), fc.constant(''));
    fc.assert(
      fc.property(number, number, (from, to) => {
        const part = requestedRange({ range: `bytes=${from}-${to}` }, file);
        if (typeof part === 'string') return;
        expect(part.first).toBeGreaterThanOrEqual(0);
        expect(part.last).toBeGreaterThanOrEqual(part.first);
        expect(part.last).toBeLessThan(file.bytes);
      }),
    );
  });
});
