import { describe, expect, it } from '@jest/globals';
import { CodedError } from '../errors.js';
import { readId, UrlEncoded } from './url-encoded.js';

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

  it('are at most 1,000', () => {
    expect(parse('a=1&'.repeat(999)).list('a')).toEqual(['1']);
    for (const text of ['a=1&'.repeat(1_000), '&'.repeat(900_000), Array.from({ length: 150_000 }, (_, n) => n.toString(36)).join('&')]) {
      expect(parse(text).fault).toMatch(/at most 1000/);
    }
  });

  it('are refused if a single-valued one is repeated', () => {
    expect(() => parse('a=1&a=1').one('a', fault)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  it('may be lists: comma-separated, repeated, or both, without duplicates', () => {
    expect(parse('s=a,b&s=c').list('s')).toEqual(['a', 'b', 'c']);
    expect(parse('s=a%2Cb,a').list('s')).toEqual(['a', 'b']);
    expect(parse('s=').list('s')).toEqual(['']);
    const texts = (text: string): unknown => parse(text).list('s', { ofTexts: true });
    expect(texts('s=red%2c+large,tall&s=%2C&s=100%25,é%C3%A9')).toEqual(['red, large', 'tall', ',', '100%', 'éé']);
    expect(texts('s=+a+,a')).toEqual(['a']);
    expect(parse('t=a').list('s')).toBeUndefined();
  });

  it('may be whole numbers within bounds', () => {
    const limits = { min: 1, max: 1_000 };
    expect(parse('limit=1000').integer('limit', limits, fault)).toBe(1_000);
    expect(parse('limit=007').integer('limit', limits, fault)).toBe(7);
    expect(parse('wait=0').integer('wait', { min: 0, max: 30 }, fault)).toBe(0);
    expect(parse('other=1').integer('limit', limits, fault)).toBeUndefined();
    for (const text of ['', '0', '1001', '-1', '+1', '1e1', '1.0', ' 1', '0x1', '١', '99999999999999999999', '1&limit=1']) {
      expect(() => parse(`limit=${text.replace('+', '%2B')}`).integer('limit', limits, fault)).toThrow(CodedError);
    }
    expect(() => parse('limit=0').integer('limit', limits, fault)).toThrow('limit must be a whole number from 1 to 1000');
  });

  it('may be ids: safe integers in their only form', () => {
    expect(parse('id=9007199254740991').id('id', fault)).toBe(Number.MAX_SAFE_INTEGER);
    expect(parse('id=7').id('id', fault)).toBe(7);
    expect(parse('other=1').id('id', fault)).toBeUndefined();
    for (const text of ['', '0', '007', '-1', '+1', '1e3', '1.0', '0x1', '9007199254740992', '1&id=1']) {
      expect(() => parse(`id=${text.replace('+', '%2B')}`).id('id', fault)).toThrow(CodedError);
    }
    expect(() => readId('id', '007', fault)).toThrow('id must be a whole number from 1 to 9007199254740991');
  });

  it('may be named like members of Object.prototype', () => {
    const parameters = parse('__proto__=1&constructor=2&toString=3');
    expect(parameters.one('__proto__', fault)).toBe('1');
    expect(parameters.one('hasOwnProperty', fault)).toBeUndefined();
  });
});
