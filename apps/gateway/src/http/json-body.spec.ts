import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkJson, maxDepth, maxMembers, maxValues } from './json-body.js';

const check = (text: string | Buffer, top: 'object' | 'array' = 'object'): unknown => checkJson(Buffer.from(text), top).value;
const fault = (text: string | Buffer, top: 'object' | 'array' = 'object'): { code: string; pointer: string | undefined } => {
  try {
    check(text, top);
  } catch (error) {
    const { code, details } = error as { code: string; details: { errors?: { pointer: string }[] } };
    return { code, pointer: details.errors?.[0]?.pointer };
  }
  return { code: 'accepted', pointer: undefined };
};

const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

const members = (count: number): string => Array.from({ length: count }, (_, n) => `"m${n}":1`).join(',');
/** Values in a list: itself and its elements. */
const list = (values: number): string => `[${Array.from({ length: values - 1 }, () => '1').join(',')}]`;

describe('a JSON body', () => {
  it.each(['{}', '{"name":"Fern","tags":[{"name":"ü\\u00e9 😀"}],"n":1e21,"b":null}', ' {"a":1}\n', nested(maxDepth), '{"a":"\\"{[,\\\\","\\"b":[]}', '{"prototype":{"constructor":{}}}'])('is accepted: %s', (text) => {
    expect(() => check(text)).not.toThrow();
  });

  it.each<[string, string | Buffer]>([
    ['no text', ''],
    ['half of an object', '{"name":'],
    ['a single quote', "{'a':1}"],
    ['a trailing comma', '{"a":1,}'],
    ['text after the object', '{} {}'],
    ['an unescaped NUL', '{"a":"\0"}'],
    ['NaN', '{"a":NaN}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong encoding', Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ['a byte order mark', '\ufeff{}'],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
  ])('is malformed: %s', (_, text) => {
    expect(fault(text)).toEqual({ code: 'malformed-json', pointer: undefined });
  });

  it.each<[string, string, string]>([
    ['a list instead of an object', '[]', ''],
    ['null', 'null', ''],
    ['a number', '7', ''],
    ['an escaped NUL in a string', '{"name":"a\\u0000b"}', '/name'],
    ['an escaped NUL in a member name', '{"a":{"b\\u0000":1}}', '/a'],
    ['a lone high surrogate', '{"tags":[{"name":"x"},{"name":"\\ud800"}]}', '/tags/1/name'],
    ['a lone low surrogate', '{"a":"\\udc00"}', '/a'],
    ['a lone surrogate in a member name', '{"\\ud800":1}', ''],
    ['__proto__', '{"category":{"__proto__":{"admin":true}}}', '/category'],
    ['an escaped __proto__', '{"\\u005f_proto__":{"admin":true}}', ''],
    ['constructor.prototype', '{"constructor":{"prototype":{"admin":true}}}', ''],
    ['one level too many', nested(maxDepth + 1), '/a'.repeat(maxDepth)],
    ['the deepest nesting that fits a body', `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, `/a${'/0'.repeat(maxDepth - 1)}`],
    ['a member too many', `{"a":[{},{${members(maxMembers + 1)}}]}`, '/a/1'],
    ['the most members that fit a body', `{${members(80_000)}}`, ''],
    ['the same member many times', `{${Array.from({ length: maxMembers + 1 }, () => '"a":1').join(',')}}`, ''],
    ['a value too many', `{"a":${list(maxValues)}}`, ''],
    ['many empty objects', `{"a":[${'{},'.repeat(maxValues)}{}]}`, ''],
    ['a lone surrogate after an escaped quote', '{"x":"\\"","a":["\\\\","\\udfff"]}', '/a/1'],
    ['constructor.prototype after other members', '{"a":{"constructor":{"b":{"c":1},"prototype":1}}}', '/a'],
    ['a slash and a tilde in the path to the fault', '{"a/b~c":"\\u0000"}', '/a~1b~0c'],
  ])('is invalid: %s', (_, text, pointer) => {
    expect(fault(text)).toEqual({ code: 'invalid-input', pointer });
  });

  it('may have as many members and values as the limits allow', () => {
    expect(() => check(`{"a":{${members(maxMembers)}},"b":{${members(maxMembers)}}}`)).not.toThrow();
    expect(() => check(`{"a":${list(maxValues - 1)}}`)).not.toThrow();
    expect(() => check(list(maxValues), 'array')).not.toThrow();
  });

  it.each([
    ['members', `{${Array.from({ length: 112_000 }, (_, n) => `"${n.toString(36)}":1`).join(',')}}`],
    ['lists in lists', `{"a":${'['.repeat(440_000)}${']'.repeat(440_000)}}`],
    ['empty objects', `{"a":[${'{},'.repeat(290_000)}{}]}`],
    ['one long text', `{"a":"${'\\n'.repeat(440_000)}"`],
    ['one long number', `{"a":${'9'.repeat(890_000)}}`],
    ['one long member name', `{"${'\\u0061'.repeat(148_000)}":1}`],
  ])('takes little time to check, however large: %s', (_, text) => {
    const bytes = Buffer.from(text);
    const costs = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      fault(bytes);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    // Work that grows with the square of the size takes many seconds. How much less it is, `npm run fuzz -- --cost` measures.
    expect(Math.min(...costs)).toBeLessThan(1_000);
  });

  it('may have a member named constructor that is a string', () => {
    expect(() => check('{"constructor":"a builder"}')).not.toThrow();
  });

  it('must be a list where a list is expected', () => {
    expect(() => check('[{"username":"a"}]', 'array')).not.toThrow();
    expect(fault('{}', 'array')).toEqual({ code: 'invalid-input', pointer: '' });
    expect(fault('[{},{"username":"\\u0000"}]', 'array')).toEqual({ code: 'invalid-input', pointer: '/1/username' });
  });

  it('is malformed if absent', () => {
    expect(() => checkJson(Buffer.alloc(0), 'object')).toThrow(expect.objectContaining({ code: 'malformed-json' }));
  });

  it('is not quoted in errors, since it may contain a password', () => {
    let message = '';
    try {
      check('{"password":"hunter2" 7}');
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toContain('not JSON');
    expect(message).not.toContain('hunter2');
  });

  it('is refused for unclean texts and for __proto__ only', () => {
    const isClean = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
    const isFine = (value: unknown): boolean => {
      if (typeof value === 'string') return isClean(value);
      if (typeof value !== 'object' || value === null) return true;
      return Array.isArray(value) ? value.every(isFine) : Object.entries(value).every(([name, one]) => isClean(name) && name !== '__proto__' && isFine(one));
    };
    const text = fc.constantFrom('a', '\0', '\ud800', 'x\udc00', '😀', 'é"\\\u2028', '__proto__', '__prot__');
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }), text, text, (value, name, other) => {
        // Escapes control characters and lone surrogates.
        const json = JSON.stringify({ a: [value, other] }).replace('"a"', JSON.stringify(name));
        expect([json, fault(json).code]).toEqual([json, isFine(JSON.parse(json)) ? 'accepted' : 'invalid-input']);
      }),
    );
  });

  it('is accepted or refused with one of the two codes, for any bytes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json().map((text) => Buffer.from(text)), fc.uint8Array().map((bytes) => Buffer.from(bytes))), (bytes) => {
        expect(['accepted', 'malformed-json', 'invalid-input']).toContain(fault(bytes).code);
      }),
    );
  });
});
