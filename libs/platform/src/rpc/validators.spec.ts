import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { ArrayUnique, IsInt, IsOptional, IsString, Max, ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import type { FieldError } from '../errors.js';
import { compiledValidatorOf, Converted, Nested } from './validation.js';

class Base {
  @Max(9)
  @IsInt({ message: 'must be a whole number' })
  number: number;
}

class Part {
  @IsString({ message: 'must be text' })
  name: string;
}

class Whole extends Base {
  @IsOptional()
  @IsString({ each: true, message: 'must contain texts' })
  tags?: string[];

  @IsOptional()
  @Converted((value) => (value === 'none' ? undefined : [value]))
  @IsString({ each: true, message: 'must be text' })
  converted?: string[];

  @IsOptional()
  @Nested(() => Part, 'must be an object')
  part?: Part;
}

function read(value: object): { whole: Whole; errors: FieldError[] } {
  const errors: FieldError[] = [];
  return { whole: compiledValidatorOf(Whole)(value as Record<string, unknown>, '', errors), errors };
}

describe('a compiled validator', () => {
  it('reads the declared fields, with those of base classes', () => {
    const { whole, errors } = read({ number: 9, tags: ['a'], part: { name: 'b', x: 1 }, isAdmin: true });
    expect(errors).toEqual([]);
    expect(whole).toBeInstanceOf(Whole);
    expect(whole.part).toBeInstanceOf(Part);
    expect(JSON.parse(JSON.stringify(whole))).toEqual({ number: 9, tags: ['a'], part: { name: 'b' } });
  });

  it.each([
    ['the first broken rule of a field', { number: 10.5 }, [{ pointer: '/number', detail: 'must be a whole number' }]],
    ["a rule in class-validator's words", { number: 10 }, [{ pointer: '/number', detail: 'number must not be greater than 9' }]],
    ['every broken field', { number: 'x', tags: [5] }, [{ pointer: '/tags', detail: 'must contain texts' }, { pointer: '/number', detail: 'must be a whole number' }]],
    ['a field of a nested object', { number: 1, part: {} }, [{ pointer: '/part/name', detail: 'must be text' }]],
    ['another value in place of a nested object', { number: 1, part: 5 }, [{ pointer: '/part', detail: 'must be an object' }]],
    ['an object in place of a text', { number: 1, tags: [{}] }, [{ pointer: '/tags', detail: 'must contain texts' }]],
    ['a missing field', { tags: [] }, [{ pointer: '/number', detail: 'must be a whole number' }]],
    ['null in place of a required field', { number: null }, [{ pointer: '/number', detail: 'must be a whole number' }]],
  ])('reports %s', (_what, value, expected) => {
    expect(read(value).errors).toEqual(expected);
  });

  it('converts a value before its rules apply', () => {
    expect(read({ number: 1, converted: 'a' }).whole.converted).toEqual(['a']);
    expect(read({ number: 1, converted: 5 }).errors).toEqual([{ pointer: '/converted', detail: 'must be text' }]);
    expect(JSON.stringify(read({ number: 1, converted: 'none' }))).toBe('{"whole":{"number":1},"errors":[]}');
  });

  it('throws for rules that depend on more than the value, or compare all pairs of a list', () => {
    class Conditional {
      @ValidateIf(() => true)
      @IsInt({ message: 'must be a whole number' })
      number: number;
    }
    class DependsOnObject {
      @ValidateBy({ name: 'neighbour', validator: { validate: (_value, args) => args?.object !== undefined, defaultMessage: () => 'must be near' } })
      number: number;
    }
    class WithoutRules {
      number: number;
    }
    class WithoutClass {
      @ValidateNested({ message: 'must be an object' })
      part: object;
    }
    class Pairwise {
      @ArrayUnique({ message: 'must not repeat' })
      list: string[];
    }
    expect(() => compiledValidatorOf(Pairwise)).toThrow(/use @Unique/);
    expect(() => compiledValidatorOf(Conditional)).toThrow(/do not support/);
    expect(() => compiledValidatorOf(DependsOnObject)({ number: 1 }, '', [])).toThrow(/reads its object/);
    expect(() => compiledValidatorOf(WithoutRules)).toThrow(/no rules/);
    expect(() => compiledValidatorOf(WithoutClass)).toThrow(/without @Nested/);
  });
});
