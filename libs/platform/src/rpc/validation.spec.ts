import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Type } from 'class-transformer';
import { IsArray, IsInt, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import fc from 'fast-check';
import { CodedError, type ErrorDetails } from '../errors.js';
import { NoPayload } from './operation.js';
import { parseJson, validated } from './validation.js';

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
  @ValidateNested()
  @Type(() => Part)
  part?: Part;

  @IsOptional()
  @IsArray({ message: 'must be a list' })
  @ValidateNested({ each: true, message: 'must be an object' })
  @Type(() => Part)
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
const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let n = 0; n < levels; n++) value = { deeper: value };
  return value;
};

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

  it('is refused with __proto__ at any depth', () => {
    expect(pointersOf(fromText('{"number":1,"__proto__":{"isAdmin":true}}'))).toEqual(['/__proto__']);
    expect(pointersOf(fromText('{"number":1,"list":[{"name":"a","x":{"__proto__":1}}]}'))).toEqual(['/list/0/x/__proto__']);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  it('loses members named like those of Object.prototype', () => {
    const value = { number: 1, constructor: 5, toString: 1, hasOwnProperty: 2, unknown: { constructor: { name: 'Array' }, length: 1e9 } };
    expect(JSON.parse(JSON.stringify(validated(Whole, value)))).toEqual({ number: 1 });
  });

  it('may be nested 16 levels deep below its own, and no deeper', () => {
    expect(pointersOf({ number: 1, unknown: nested(16) })).toEqual([]);
    expect(pointersOf({ number: 1, unknown: nested(17) })).toEqual(['']);
    expect(pointersOf({ number: 1, unknown: fromText('['.repeat(400_000) + ']'.repeat(400_000)) })).toEqual(['']);
  });

  it('is accepted or refused with pointers, for any JSON value', () => {
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
