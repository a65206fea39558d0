import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Transform, Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { compiledValidatorOf } from './compiled-validator.js';

class Part {
  @IsString()
  name: string;
}

class Whole {
  @IsInt()
  @Max(9)
  number: number;

  @IsOptional()
  @IsString({ each: true })
  tags?: string[];

  @IsOptional()
  @ValidateNested()
  @Type(() => Part)
  part?: Part;

  @IsOptional()
  @Transform(({ value }: { value: unknown }) => [value])
  @IsString({ each: true })
  converted?: string[];
}
const validate = compiledValidatorOf(Whole);

describe('a compiled validator', () => {
  it('returns an instance for a valid value', () => {
    const whole = validate({ number: 9, tags: ['a'], part: { name: 'b' } });
    expect(whole).toBeInstanceOf(Whole);
    expect(whole?.part).toBeInstanceOf(Part);
    expect(JSON.parse(JSON.stringify(whole))).toEqual({ number: 9, tags: ['a'], part: { name: 'b' } });
  });

  it('treats null in an optional field as absent', () => {
    expect(JSON.stringify(validate({ number: 1, tags: null }))).toBe('{"number":1}');
  });

  it.each([
    ['a rule is broken', { number: 10 }],
    ['an element breaks a rule', { number: 1, tags: ['a', 5] }],
    ['a nested object breaks a rule', { number: 1, part: { name: 5 } }],
    ['an object stands where none is allowed', { number: 1, tags: [{}] }],
    ['a required field is missing', { tags: [] }],
    ['a required field is null', { number: null }],
    ['a field is not declared', { number: 1, isAdmin: true }],
    ['a member would change the prototype', JSON.parse('{"number":1,"__proto__":{}}') as unknown],
    ['class-transformer would convert a field', { number: 1, converted: 'a' }],
    ['the value is a list', [{ number: 1 }]],
    ['the value is null', null],
  ])('leaves the decision to class-validator when %s', (_when, value) => expect(validate(value)).toBeUndefined());

  it('throws for rules that depend on more than the value', () => {
    class Conditional {
      @ValidateIf(() => true)
      @IsInt()
      number: number;
    }
    class DependsOnObject {
      @ValidateBy({ name: 'neighbour', validator: { validate: (_value, args) => args?.object !== undefined } })
      number: number;
    }
    class WithoutRules {
      number: number;
    }
    expect(() => compiledValidatorOf(Conditional)).toThrow(/do not support/);
    expect(() => compiledValidatorOf(DependsOnObject)({ number: 1 })).toThrow(/reads its object/);
    expect(() => compiledValidatorOf(WithoutRules)).toThrow(/no rules/);
  });
});
