import { applyDecorators, type Type } from '@nestjs/common';
import { invalidInput } from '@plant-shop/platform/errors';
import { Converted, Nested, NotNull, Nullable } from '@plant-shop/platform/rpc/validation';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
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
} from 'class-validator';
import { Description, type FieldSchema, Schema } from './schema.js';

// Validation rules of fields. Clients receive the messages, so they are written for the people who sent the value.

/** The first id that services assign; clients may choose smaller ones. */
export const firstAssignedId = 1_000_000_001;

const WellFormed = (): PropertyDecorator =>
  ValidateBy({
    name: 'wellFormed',
    validator: {
      validate: (value) => typeof value === 'string' && !value.includes('\0') && value.isWellFormed(),
      defaultMessage: () => 'must hold neither NUL characters nor halves of surrogate pairs',
    },
  });

/** A whole number. Strings are not converted: "7" is refused. */
export const Integer = (min: number, max: number): PropertyDecorator => {
  const message = `must be a whole number from ${min} to ${max}`;
  const schema = { type: 'integer', ...(max > 2_147_483_647 && { format: 'int64' }), minimum: min, maximum: max };
  return applyDecorators(IsInt({ message }), Min(min, { message }), Max(max, { message }), Schema(schema));
};

/** A required identifier. */
export const Id = (): PropertyDecorator => Integer(1, Number.MAX_SAFE_INTEGER);

/** An identifier on creation. 0 or absent: the service assigns one. */
export const IdToAssign = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Integer(0, Number.MAX_SAFE_INTEGER),
    Schema({ description: '0 or absent: the shop assigns one.' }),
  );

/** The identifier in a change. 0 or absent: it stays the same. */
export const IdToChange = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Integer(0, Number.MAX_SAFE_INTEGER),
    Schema({ description: '0 or absent: it stays the same.' }),
  );

/** Optional: absent keeps what there is, `null` ends it. */
export const Clearable = (): PropertyDecorator => applyDecorators(IsOptional(), Nullable(), Schema({ clearable: true }));

/** Optional in a merge patch: absent keeps what there is, and `null` is refused. */
export const Kept = (): PropertyDecorator => applyDecorators(IsOptional(), NotNull());

/** A boolean. Strings are not converted: "true" is refused. */
export const Flag = (): PropertyDecorator =>
  applyDecorators(IsBoolean({ message: 'must be true or false' }), Schema({ type: 'boolean' }));

/** Text of 1 to 200 characters (UTF-16 code units) by default. */
export const Text = ({ min = 1, max = 200 }: { min?: number; max?: number } = {}): PropertyDecorator => {
  const message = `must be text of ${min} to ${max} characters`;
  return applyDecorators(IsString({ message }), Length(min, max, { message }), WellFormed(), Schema(textSchema(min, max)));
};

/** What somebody says, or refers to: `Text` with something to see. It is stored as it was sent. */
export const VisibleText = (length: { min?: number; max?: number } = {}): PropertyDecorator =>
  applyDecorators(
    Text(length),
    ValidateBy({
      name: 'visible',
      validator: {
        validate: (value) => typeof value === 'string' && (value === '' || visible.test(value)),
        defaultMessage: () => 'must have a character that can be seen',
      },
    }),
  );

/**
 * The name of something, as people see it: `VisibleText` without white space around it. Names that differ in nothing visible, or have none, cannot be
 * told apart; control characters other than tabs and line ends can change what a terminal or log shows.
 */
export const Name = (length: { min?: number; max?: number } = {}): PropertyDecorator =>
  applyDecorators(
    Converted((value) => (typeof value === 'string' ? value.trim() : value)),
    VisibleText(length),
    ValidateBy({
      name: 'noControls',
      validator: {
        validate: (value) => typeof value === 'string' && !controls.test(value),
        defaultMessage: () => 'must not contain control characters, except tabs and line ends',
      },
    }),
  );

/** Excludes blanks, marks without a letter, and characters without a shape, such as Hangul fillers and the blank Braille pattern. */
const visible = /[^\p{Cc}\p{Cf}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/u;
// eslint-disable-next-line no-control-regex -- the expression finds control characters
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/u;

const mailbox = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * Whether mail can be sent to this text: the mailbox of RFC 5321 in ASCII, with its limits of length, at a domain name of several labels.
 * Quoted names, address literals, and characters beyond ASCII are none, because not every mail server takes them.
 */
export const isEmailAddress = (text: string): boolean => text.length <= 254 && text.lastIndexOf('@') <= 64 && mailbox.test(text);

/** An address that mail can be sent to. The `email` of a user is any text: one that is no such address is never verified. */
export const EmailAddress = (): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'emailAddress',
      validator: {
        validate: (value) => typeof value === 'string' && isEmailAddress(value),
        defaultMessage: () => 'must be an e-mail address such as ada@example.com',
      },
    }),
    Schema({ type: 'string', format: 'email', maxLength: 254 }),
  );

const textSchema = (minLength: number, maxLength: number): FieldSchema => ({
  type: 'string',
  ...(minLength > 0 && { minLength }),
  maxLength,
});

/** A list of at most `size` texts of 1 to `max` characters. */
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
        defaultMessage: () => `must contain texts of 1 to ${max} characters`,
      },
    }),
    Schema({ type: 'array', maxItems: size, items: textSchema(1, max) }),
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
    Schema({ type: 'array', ...(min > 0 && { minItems: min }), maxItems: size }),
  );

/** A list that repeats no entry. class-validator's rule compares all pairs, which takes seconds for the entries of one large body. */
export const Unique = (message: string): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'unique',
      validator: {
        validate: (value) => Array.isArray(value) && new Set(value).size === value.length,
        defaultMessage: () => message,
      },
    }),
    Schema({ uniqueItems: true }),
  );

/** A list whose entries are among the given values. Combine with `ListOf` for the number of entries. */
export const SomeOf = (values: readonly string[], message: string): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'someOf',
      validator: {
        validate: (value) => Array.isArray(value) && value.every((one) => (values as readonly unknown[]).includes(one)),
        defaultMessage: () => message,
      },
    }),
    Schema({ items: { type: 'string', enum: values } }),
  );

/** An object of another class. `@Nested` alone would also accept a list of them. */
export const ObjectOf = (
  type: () => Type<object>,
  { message = 'must be a JSON object' }: { message?: string } = {},
): PropertyDecorator => applyDecorators(IsObject({ message }), Nested(type, message), Schema({ objectOf: type }));

/** A list of 1 to `size` identifiers. */
export const Ids = (size: number): PropertyDecorator =>
  applyDecorators(
    ListOf(size, 1),
    IsInt({ each: true, message: 'must contain whole numbers' }),
    Min(1, { each: true, message: 'must contain positive numbers' }),
    Max(Number.MAX_SAFE_INTEGER, { each: true, message: `must contain numbers up to ${Number.MAX_SAFE_INTEGER}` }),
    Schema({ items: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } }),
  );

/** A list of objects of another class. */
export const ObjectsOf = (
  type: () => Type<object>,
  { size, min = 0, message = 'must be a JSON object' }: { size: number; min?: number; message?: string },
): PropertyDecorator =>
  applyDecorators(
    ListOf(size, min),
    Nested(type, message),
    Schema({ items: { objectOf: type } }),
  );

/**
 * An RFC 3339 date-time with an offset. Offsets in ISO 8601's basic and short forms (`+0000`, `+00`) are accepted and
 * rewritten, so that the services only see RFC 3339.
 */
export const DateTime = (): PropertyDecorator => {
  const message = 'must be a date-time with an offset, like 2026-05-01T09:30:00.000Z';
  return applyDecorators(
    Converted((value) => (typeof value === 'string' ? withFullOffset(value) : value)),
    IsISO8601({ strict: true }, { message }),
    Matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i, { message }),
    ValidateBy({
      name: 'instant',
      validator: {
        // Refuses leap seconds, and years that the offset moves outside of 1 to 9999: they could not be returned.
        validate: (value) => {
          const year = typeof value === 'string' ? new Date(value).getUTCFullYear() : NaN;
          return year >= 1 && year <= 9_999;
        },
        defaultMessage: () => message,
      },
    }),
    Schema({ type: 'string', format: 'date-time' }),
  );
};

const withFullOffset = (dateTime: string): string =>
  dateTime.replace(/(T[\d:.]+[+-]\d\d)(\d\d)?$/, (_, start: string, minutes = '00') => `${start}:${minutes}`);

/** One of the given values. */
export const OneOf = (values: readonly string[]): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'oneOf',
      validator: {
        validate: (value) => typeof value === 'string' && values.includes(value),
        defaultMessage: () => `must be one of ${values.join(', ')}`,
      },
    }),
    Schema({ type: 'string', enum: values }),
  );

/** Text that matches a regular expression. */
export const Pattern = (form: RegExp, message: string, schema: FieldSchema): PropertyDecorator =>
  applyDecorators(Matches(form, { message }), Schema({ type: 'string', ...schema }));

/** An id that the sender's own system gave to the resource: a `Name` of 1 to 200 characters. */
export const ExternalId = (): PropertyDecorator =>
  applyDecorators(Name(), Description('The id in a system of your own. The shop compares it exactly and reads nothing into it.'));

export const metadataLimits = { pairs: 50, key: 40, value: 500 };

export type MetadataPairs = Readonly<Record<string, string>>;
/** A merge patch of metadata: `null` removes a pair. */
export type MetadataChanges = Readonly<Record<string, string | null>>;

/** At most 50 pairs of a name of 1 to 40 characters and a text of at most 500 (`metadataLimits`), which the shop keeps for its clients and reads nothing into. @param clearable whether a value may be `null`, in a merge patch */
export const Metadata = ({ clearable = false } = {}): PropertyDecorator => {
  const { pairs, key: longestKey, value: longestValue } = metadataLimits;
  const isText = (text: unknown, max: number): boolean => typeof text === 'string' && text.length <= max && !text.includes('\0') && text.isWellFormed();
  return applyDecorators(
    ValidateBy({
      name: 'metadata',
      validator: {
        validate: (value) => {
          if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
          const entries = Object.entries(value as Record<string, unknown>);
          return entries.length <= pairs && entries.every(([key, text]) => key !== '' && isText(key, longestKey) && (isText(text, longestValue) || (clearable && text === null)));
        },
        defaultMessage: () =>
          `must be an object of at most ${pairs} texts of at most ${longestValue} characters, with names of 1 to ${longestKey} characters`,
      },
    }),
    Schema({
      type: 'object',
      maxProperties: pairs,
      propertyNames: { type: 'string', minLength: 1, maxLength: longestKey },
      additionalProperties: { ...textSchema(0, longestValue), ...(clearable && { type: ['string', 'null'] }) },
      description: 'Texts of your own, which the shop keeps and reads nothing into, but for `payment` in a sandbox.',
    }),
  );
};

/**
 * Applies a merge patch (RFC 7396) to metadata. No pairs are `null`.
 * @param pointer of the metadata in the request
 * @throws CodedError `invalid-input` if there would be too many pairs
 */
export function mergeMetadata(before: MetadataPairs | null, changes: MetadataChanges | null | undefined, pointer: string): MetadataPairs | null {
  if (changes === undefined) return before;
  const all = Object.entries({ ...before, ...changes }).filter((pair): pair is [string, string] => pair[1] !== null);
  if (changes === null || all.length === 0) return null;
  if (all.length > metadataLimits.pairs) throw invalidInput([{ pointer, detail: `must have at most ${metadataLimits.pairs} pairs, and would have ${all.length}` }]);
  return Object.fromEntries(all);
}

/** A UUID in lower case, by which services refer to users. */
export const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const Uuid = (): PropertyDecorator => Pattern(uuidPattern, 'must be a UUID', { format: 'uuid' });

/** The version that a change expects, from `If-Match`. If the resource has another one: `precondition-failed`. */
export const ExpectedVersion = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Integer(0, Number.MAX_SAFE_INTEGER));

export const PageLimit = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Integer(1, 1_000),
    Description('Maximum number of entries. Default: 1,000. A page also ends at about 512 KiB.'),
  );

/** Forged cursors are refused as `invalid-cursor`. */
export const PageCursor = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Text({ max: 500 }), Description('Opaque cursor from the `Link` header of another page of the same list.'));

/** Keyset pagination. */
export class PageRequest {
  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}
