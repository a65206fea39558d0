import { applyDecorators } from '@nestjs/common';
import { type ClassConstructor, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsInt,
  IsISO8601,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';

// The bounds of 1-api-decisions, "General", each once. The texts are read by the people who sent the value.

/** First of the ids that the services assign; smaller ones stay free for clients. */
export const firstAssignedId = 1_000_000_001;

const WellFormed = (): PropertyDecorator =>
  ValidateBy({
    name: 'wellFormed',
    validator: {
      validate: (value) => typeof value === 'string' && !value.includes('\0') && value.isWellFormed(),
      defaultMessage: () => 'must hold neither NUL characters nor halves of surrogate pairs',
    },
  });

/** A whole number; "7" is not 7. */
export const Integer = (min: number, max: number): PropertyDecorator => {
  const message = `must be a whole number from ${min} to ${max}`;
  return applyDecorators(IsInt({ message }), Min(min, { message }), Max(max, { message }));
};

/** An identifier that must be there. */
export const Id = (): PropertyDecorator => Integer(1, Number.MAX_SAFE_INTEGER);

/** An identifier on creation: 0 or absent means "assign one". */
export const IdToAssign = (): PropertyDecorator => applyDecorators(IsOptional(), Integer(0, Number.MAX_SAFE_INTEGER));

/** Text in characters (UTF-16 units), 1..200 unless said otherwise. */
export const Text = ({ min = 1, max = 200 }: { min?: number; max?: number } = {}): PropertyDecorator => {
  const message = `must be text of ${min} to ${max} characters`;
  return applyDecorators(IsString({ message }), Length(min, max, { message }), WellFormed());
};

/** Like `Text`, for each element of a list of at most `size`. */
export const Texts = (size: number, max = 200): PropertyDecorator =>
  applyDecorators(
    IsArray({ message: 'must be a list' }),
    ArrayMaxSize(size, { message: `must have at most ${size} entries` }),
    ValidateBy({
      name: 'texts',
      validator: {
        validate: (value) =>
          Array.isArray(value) &&
          value.every(
            (one) =>
              typeof one === 'string' && one.length >= 1 && one.length <= max && !one.includes('\0') && one.isWellFormed(),
          ),
        defaultMessage: () => `must hold texts of 1 to ${max} characters`,
      },
    }),
  );

/** A list of `min` to `size` entries. */
export const ListOf = (size: number, min = 0): PropertyDecorator =>
  applyDecorators(
    IsArray({ message: 'must be a list' }),
    ValidateBy({
      name: 'listSize',
      validator: {
        validate: (value) => Array.isArray(value) && value.length >= min && value.length <= size,
        defaultMessage: () => `must have ${min} to ${size} entries`,
      },
    }),
  );

/** One object of another class. By itself, `@ValidateNested` also takes a list of them, and nothing at all. */
export const ObjectOf = (
  type: () => ClassConstructor<object>,
  { message = 'must be a JSON object' }: { message?: string } = {},
): PropertyDecorator => applyDecorators(IsObject({ message }), ValidateNested({ message }), Type(type));

/** A list of objects of another class. By itself, `@ValidateNested` also takes lists of lists of them. */
export const ObjectsOf = (
  type: () => ClassConstructor<object>,
  { size, min = 0, message = 'must be a JSON object' }: { size: number; min?: number; message?: string },
): PropertyDecorator =>
  applyDecorators(
    ListOf(size, min),
    ValidateBy({
      name: 'noLists',
      validator: {
        validate: (value) => Array.isArray(value) && !value.some((one) => Array.isArray(one)),
        defaultMessage: () => 'must not hold lists',
      },
    }),
    ValidateNested({ each: true, message }),
    Type(type),
  );

/** An RFC 3339 date-time with an offset. */
export const DateTime = (): PropertyDecorator => {
  const message = 'must be a date-time with an offset, like 2026-05-01T09:30:00.000Z';
  return applyDecorators(
    IsISO8601({ strict: true }, { message }),
    Matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i, { message }),
    ValidateBy({
      name: 'instant',
      validator: {
        // Leap seconds, and years that an offset pushes out of four digits, are no instants that we could give back.
        validate: (value) => {
          const year = typeof value === 'string' ? new Date(value).getUTCFullYear() : NaN;
          return year >= 1 && year <= 9_999;
        },
        defaultMessage: () => message,
      },
    }),
  );
};

/** One of a closed list. */
export const OneOf = (values: readonly string[]): PropertyDecorator =>
  ValidateBy({
    name: 'oneOf',
    validator: {
      validate: (value) => typeof value === 'string' && values.includes(value),
      defaultMessage: () => `must be one of ${values.join(', ')}`,
    },
  });

/** A UUID in lower case: how services know users among themselves. */
export const Uuid = (): PropertyDecorator =>
  Matches(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, { message: 'must be a UUID' });

/** The version that a change expects, from `If-Match`; another one there is `precondition-failed`. */
export const ExpectedVersion = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Integer(0, Number.MAX_SAFE_INTEGER));

/** How a list is paged: newest first, by key. */
export class PageRequest {
  @IsOptional()
  @Integer(1, 1_000)
  limit?: number;

  /** Opaque, from an earlier page of the same list; forged ones are `invalid-cursor`. */
  @IsOptional()
  @Text({ max: 500 })
  cursor?: string;
}
