import { describe, expect, it } from '@jest/globals';
import { CodedError } from '../errors.js';
import { UrlEncoded } from './url-encoded.js';

const parse = (text: string): UrlEncoded => UrlEncoded.parse(text);
const fault = (name: string, must: string): CodedError => new CodedError('invalid-input', `${name} ${must}`);

describe('URL-encoded parameters', () => {
  it('are decoded, with + for a space', () => {
    const parameters = parse('name=blue+fern%20%C3%BC&empty=&flag');
    expect(parameters.one('name', fault)).toBe('blue fern ü');
    expect(parameters.one('empty', fault)).toBe('');
    expect(parameters.one('flag', fault)).toBe('');
    expect(parameters.one('other', fault)).toBeUndefined();
  });

  it.each(['a=%', 'a=%zz', 'a=%f', '%ff=1', 'a=%c0%80', 'a=%ed%a0%80', 'x=1&a=%E4'])('are refused with broken encoding: %s', (text) => {
    expect(parse(text).fault).toMatch(/percent-encoded/);
  });

  it.each(['a=%00', '%00=1', 'a=b%00c'])('are refused with a NUL: %s', (text) => {
    expect(parse(text).fault).toMatch(/NUL/);
  });

  it('are refused if a single-valued one is repeated', () => {
    expect(() => parse('a=1&a=1').one('a', fault)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  it('may be lists: comma-separated, repeated, or both, without duplicates', () => {
    expect(parse('s=a,b&s=c').list('s')).toEqual(['a', 'b', 'c']);
    expect(parse('s=a%2Cb,a').list('s')).toEqual(['a', 'b']);
    expect(parse('s=').list('s')).toEqual(['']);
    expect(parse('t=a').list('s')).toBeUndefined();
  });

  it('may be named like members of Object.prototype', () => {
    const parameters = parse('__proto__=1&constructor=2&toString=3');
    expect(parameters.one('__proto__', fault)).toBe('1');
    expect(parameters.one('hasOwnProperty', fault)).toBeUndefined();
  });
});
