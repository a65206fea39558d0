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
const accept = compiledValidatorOf(Whole);

describe('the quick path of validation', () => {
  it('makes instances of what is plainly right', () => {
    const whole = accept({ number: 9, tags: ['a'], part: { name: 'b' } });
    expect(whole).toBeInstanceOf(Whole);
    expect(whole?.part).toBeInstanceOf(Part);
    expect(JSON.parse(JSON.stringify(whole))).toEqual({ number: 9, tags: ['a'], part: { name: 'b' } });
  });

  it('takes null in an optional field as absent', () => {
    expect(JSON.stringify(accept({ number: 1, tags: null }))).toBe('{"number":1}');
  });

  it.each([
    ['a rule is broken', { number: 10 }],
    ['an element breaks a rule', { number: 1, tags: ['a', 5] }],
    ['an object within breaks a rule', { number: 1, part: { name: 5 } }],
    ['an object stands where none may', { number: 1, tags: [{}] }],
    ['something is missing', { tags: [] }],
    ['something required is null', { number: null }],
    ['a field is not declared', { number: 1, isAdmin: true }],
    ['a member would change the prototype', JSON.parse('{"number":1,"__proto__":{}}') as unknown],
    ['class-transformer would convert a field', { number: 1, converted: 'a' }],
    ['it is a list', [{ number: 1 }]],
    ['it is nothing', null],
  ])('leaves the verdict to class-validator when %s', (_when, value) => expect(accept(value)).toBeUndefined());

  it('refuses to be made for rules that depend on more than the value', () => {
    class Conditional {
      @ValidateIf(() => true)
      @IsInt()
      number: number;
    }
    class Neighbourly {
      @ValidateBy({ name: 'neighbour', validator: { validate: (_value, args) => args?.object !== undefined } })
      number: number;
    }
    class Lawless {
      number: number;
    }
    expect(() => compiledValidatorOf(Conditional)).toThrow(/does not know/);
    expect(() => compiledValidatorOf(Neighbourly)({ number: 1 })).toThrow(/looks at its object/);
    expect(() => compiledValidatorOf(Lawless)).toThrow(/no rules/);
  });
});
