import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { ArrayMaxSize, IsArray, IsInt, IsObject, IsOptional, IsString } from 'class-validator';
import fc from 'fast-check';
import { CodedError, type ErrorDetails } from '../errors.js';
import { Nested, parseJson, validated } from './validation.js';
import { NoPayload } from './operation.js';

class Part {
  @IsString({ message: 'must be text' })
  name: string;

  @IsOptional()
  @IsInt({ message: 'must be a whole number' })
  'a/b~c'?: number;
}

class Whole {
  @IsInt({ message: 'must be a whole number' })
  number: number;

  @IsOptional()
  @IsString({ message: 'must be text' })
  note?: string;

  @IsOptional()
  @IsObject({ message: 'must be an object' })
  @Nested(() => Part, 'must be an object')
  part?: Part;

  @IsOptional()
  @IsArray({ message: 'must be a list' })
  @ArrayMaxSize(64, { message: 'must have at most 64 entries' })
  @Nested(() => Part, 'must be an object')
  list?: Part[];
}

const errorsOf = (value: unknown): NonNullable<ErrorDetails['errors']> => {
  try {
    validated(Whole, value);
    return [];
  } catch (error) {
    if (error instanceof CodedError && error.code === 'invalid-input') return error.details.errors ?? [];
    throw error;
  }
};
const pointersOf = (value: unknown): string[] => errorsOf(value).map((error) => ('pointer' in error ? error.pointer : 'no field'));
const fromText = (text: string): unknown => parseJson(Buffer.from(text));

describe('a payload', () => {
  it('is returned as an instance of its class', () => {
    const payload = validated(Whole, { number: 1, part: { name: 'a' }, list: [{ name: 'b' }] });
    expect(payload).toBeInstanceOf(Whole);
    expect(payload.part).toBeInstanceOf(Part);
    expect(payload.list?.[0]).toBeInstanceOf(Part);
  });

  it('loses members that its class does not declare, at every depth', () => {
    const payload = validated(Whole, { number: 1, isAdmin: true, part: { name: 'a', owner: 2 }, list: [{ name: 'b', x: 3 }] });
    expect(JSON.parse(JSON.stringify(payload))).toEqual({ number: 1, part: { name: 'a' }, list: [{ name: 'b' }] });
  });

  it('may have null in an optional field, which counts as absent, at every depth', () => {
    const payload = validated(Whole, { number: 1, note: null, part: { name: 'a', 'a/b~c': null } });
    expect(payload.note).toBeUndefined();
    expect(payload.part?.['a/b~c']).toBeUndefined();
  });

  it('is refused with null in a required field or as an element of a list', () => {
    expect(pointersOf({ number: null })).toEqual(['/number']);
    expect(pointersOf({ number: 1, list: [{ name: 'a' }, null] })).toEqual(['/list/1']);
  });

  it('is never converted', () => {
    expect(errorsOf({ number: '7' })).toEqual([{ pointer: '/number', detail: 'must be a whole number' }]);
    expect(pointersOf({ number: true })).toEqual(['/number']);
    expect(pointersOf({ number: [7] })).toEqual(['/number']);
    expect(pointersOf({ number: 1, note: 7 })).toEqual(['/note']);
  });

  it('is refused with a pointer to every invalid field, escaped according to RFC 6901', () => {
    const value = { number: 'x', part: { 'a/b~c': 'x' }, list: [{ name: 'a' }, {}, { name: 'c' }, { name: 5 }] };
    expect(pointersOf(value).sort()).toEqual(['/list/1/name', '/list/3/name', '/number', '/part/a~1b~0c', '/part/name']);
  });

  it.each([['a list', []], ['text', 'x'], ['a number', 5], ['null', null], ['undefined', undefined]])(
    'is refused as a whole when it is %s',
    (_what, value) => expect(pointersOf(value)).toEqual(['']),
  );

  it('loses members named like those of Object.prototype', () => {
    const value = { number: 1, constructor: 5, toString: 1, hasOwnProperty: 2, unknown: { constructor: { name: 'Array' }, length: 1e9 } };
    expect(JSON.parse(JSON.stringify(validated(Whole, value)))).toEqual({ number: 1 });
  });

  it('loses __proto__, which changes no prototype', () => {
    const payload = validated(Whole, fromText('{"number":1,"__proto__":{"note":"x"},"part":{"name":"a","__proto__":{"isAdmin":true}}}'));
    expect(payload.note).toBeUndefined();
    expect(payload.part).not.toHaveProperty('isAdmin');
    expect(payload.part).toBeInstanceOf(Part);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  describe('costs little', () => {
    const members = fromText(`{"a":1${Array.from({ length: 112_000 }, (_, n) => `,"b${n}":1`).join('')}}`) as object;
    const objects = fromText(`[${'{},'.repeat(300_000)}{}]`);
    const deep = fromText('['.repeat(400_000) + ']'.repeat(400_000));

    it.each<[string, unknown, string[]]>([
      ['undeclared members', { number: 1, ...members }, []],
      ['an undeclared member with many members', { number: 1, unknown: members }, []],
      ['undeclared members of a nested object', { number: 1, part: { name: 'a', ...members } }, []],
      ['an object in place of a text', { number: 1, note: members }, ['/note']],
      ['a list that is too long', { number: 1, list: objects }, ['/list']],
      ['a list in place of an object', { number: 1, part: objects }, ['/part']],
      ['an undeclared member that is nested deeply', { number: 1, unknown: deep }, []],
      ['deep nesting in place of an object', { number: 1, list: [deep] }, ['/list/0']],
    ])('with %s', (_what, value, pointers) => {
      const before = process.cpuUsage();
      const found = pointersOf(value);
      const { user, system } = process.cpuUsage(before);
      expect(found).toEqual(pointers);
      // Work that grows with the square of the size takes many seconds. How much less it is, `npm run fuzz -- --cost` measures.
      expect((user + system) / 1_000).toBeLessThan(1_000);
    });
  });

  it('is accepted or refused with pointers, for any JSON value (slow)', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => void errorsOf(value)));
    const almost = fc.record(
      { number: fc.jsonValue(), note: fc.jsonValue(), part: fc.jsonValue(), list: fc.array(fc.jsonValue()) },
      { requiredKeys: [] },
    );
    fc.assert(fc.property(almost, (value) => void errorsOf(value)));
  });

  it('may be any object if the operation has no payload', () => {
    expect(validated(NoPayload, { a: 1 })).toEqual({});
  });
});

describe('the bytes of a payload', () => {
  it('may be empty', () => expect(parseJson(Buffer.alloc(0))).toEqual({}));

  it.each([
    ['broken JSON', Buffer.from('{"a":')],
    ['two values', Buffer.from('{}{}')],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['NaN', Buffer.from('NaN')],
  ])('are refused as invalid input: %s', (_what, bytes) => {
    expect(() => parseJson(bytes)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });
});
