import { isUtf8 } from 'node:buffer';
import { applyDecorators, type Type } from '@nestjs/common';
import { getMetadataStorage, ValidateNested, type ValidationArguments } from 'class-validator';
import { CodedError, type FieldError, invalidInput } from '../errors.js';
import { NoPayload } from './operation.js';

// Runs class-validator's rules, collected once per class from its decorators. The library's own executor looks them up and prepares an
// error for each field of each payload, which took a fifth of the store's CPU time. class-transformer is not used: it compares the
// members of an object pairwise, including undeclared ones, which took 7 s for the largest body.

/**
 * Returns an instance of the class with its declared fields; other members of the value are not read. Adds an error for each invalid
 * field, and then the instance must not be used.
 * @param pointer of the value
 */
export type CompiledValidator<T> = (value: Members, pointer: string, errors: FieldError[]) => T;

type Members = Readonly<Record<string, unknown>>;

interface Rule {
  readonly holds: (value: unknown) => boolean;
  readonly messageFor: (value: unknown) => string;
}

interface Field {
  readonly name: string;
  /** The name as part of a pointer. */
  readonly part: string;
  readonly optional: boolean;
  /** What `null` is: absence; `value`: it has a meaning of its own, and is returned; `invalid`: the rules refuse it. */
  readonly nullIs: NullMeaning | undefined;
  readonly convert: ((value: unknown) => unknown) | undefined;
  readonly rules: readonly Rule[];
  /** For an object of another class, or a list of them. */
  readonly nested: { readonly validate: CompiledValidator<object>; readonly message: string } | undefined;
}

type NullMeaning = 'value' | 'invalid';

type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

const nestedKey = Symbol('nested');
const convertKey = Symbol('convert');
const nullKey = Symbol('null');

/** The field is an object of another class, or a list of them. @param message the error for a value that is no object */
export const Nested = (type: () => Type<object>, message: string): PropertyDecorator =>
  applyDecorators(ValidateNested({ message }), (prototype: object, property: string | symbol) =>
    Reflect.defineMetadata(nestedKey, type, prototype, property),
  );

/** In this field `null` differs from absence: it ends what the field sets. */
export const Nullable = (): PropertyDecorator => nullMeans('value');

/** In this field `null` is refused, although it is optional: a merge patch would remove what must stay. */
export const NotNull = (): PropertyDecorator => nullMeans('invalid');

const nullMeans =
  (meaning: NullMeaning): PropertyDecorator =>
  (prototype, property) =>
    Reflect.defineMetadata(nullKey, meaning, prototype, property);

/** Converts a value of the field before its rules apply. `undefined` makes it absent. */
export const Converted =
  (convert: (value: unknown) => unknown): PropertyDecorator =>
  (prototype, property) =>
    Reflect.defineMetadata(convertKey, convert, prototype, property);

const validators = new WeakMap<Type<object>, CompiledValidator<object>>();

/**
 * Returns the validator of a class, compiled at the first call.
 * @throws Error for a class without rules, and for a rule that this file cannot apply, such as one with groups
 */
export function compiledValidatorOf<T extends object>(type: Type<T>): CompiledValidator<T> {
  let validator = validators.get(type);
  if (!validator) {
    validator = compile(type);
    validators.set(type, validator);
  }
  return validator as CompiledValidator<T>;
}

function compile<T extends object>(type: Type<T>): CompiledValidator<T> {
  const fields = Object.entries(rulesOf(type)).map(([name, rules = []]) => fieldOf(type, name, rules));
  return (value, pointer, errors) => {
    const instance = new type() as Record<string, unknown>;
    for (const field of fields) {
      const one = readField(field, value, pointer, errors);
      if (one !== undefined) instance[field.name] = one;
    }
    return instance as T;
  };
}

/** Returns the value of a field; undefined if it is absent or invalid. `null` means absent, unless the field says otherwise. */
function readField(field: Field, object: Members, pointer: string, errors: FieldError[]): unknown {
  let value: unknown = object[field.name];
  if (value === null && field.nullIs === 'value') return null;
  if (value === null && field.nullIs === undefined) value = undefined;
  if (field.convert && value !== undefined) value = field.convert(value);
  if (value === undefined && field.optional) return undefined;
  for (const rule of field.rules) {
    if (rule.holds(value)) continue;
    errors.push({ pointer: pointer + field.part, detail: rule.messageFor(value) });
    return undefined;
  }
  if (!field.nested) return value;
  const { nested } = field;
  const at = pointer + field.part;
  return Array.isArray(value) ? value.map((one, n) => readObject(nested, one, `${at}/${n}`, errors)) : readObject(nested, value, at, errors);
}

function readObject({ validate, message }: NonNullable<Field['nested']>, value: unknown, pointer: string, errors: FieldError[]): object | undefined {
  if (isObject(value)) return validate(value, pointer, errors);
  errors.push({ pointer, detail: message });
  return undefined;
}

function fieldOf(type: Type<object>, name: string, all: readonly Metadata[]): Field {
  // `readField` would find it in every object.
  if (name in Object.prototype) throw new Error(`${type.name}.${name} has the name of a member of every object`);
  const nested = all.find((rule) => rule.type === 'nestedValidation');
  const nestedType = Reflect.getMetadata(nestedKey, type.prototype as object, name) as (() => Type<object>) | undefined;
  if (nested && !nestedType) throw new Error(`${type.name}.${name} has @ValidateNested without @Nested`);
  return {
    name,
    part: pointerPart(name),
    optional: all.some(isOptional),
    nullIs: Reflect.getMetadata(nullKey, type.prototype as object, name) as Field['nullIs'],
    convert: Reflect.getMetadata(convertKey, type.prototype as object, name) as Field['convert'],
    rules: all.filter((rule) => rule.type === 'customValidation').flatMap(checksOf),
    nested: nestedType && { validate: compiledValidatorOf(nestedType()), message: String(nested?.message) },
  };
}

const isOptional = (rule: Metadata): boolean => rule.name === 'isOptional';

/** Returns the rules of a class, including those of its base classes, by field. */
function rulesOf(type: Type<object>): Partial<Record<string, Metadata[]>> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  if (rules.length === 0) throw new Error(`${type.name} has no rules`);
  for (const rule of rules) {
    // It compares each pair of a list's entries: 10 s for one body.
    if (rule.name === 'arrayUnique') throw new Error(`${type.name}.${rule.propertyName} has @ArrayUnique: use @Unique`);
    const isSupported = rule.type === 'customValidation' || rule.type === 'nestedValidation' || isOptional(rule);
    // The library's types say that `groups` is always defined, but it is missing where a rule has other options.
    const groups = rule.groups as readonly string[] | undefined;
    if (!isSupported || rule.validateIf || groups?.length) {
      throw new Error(`${type.name}.${rule.propertyName} has a rule that compiled validators do not support: ${rule.name ?? rule.type}`);
    }
  }
  return Object.groupBy(rules, (rule) => rule.propertyName);
}

function checksOf(rule: Metadata): Rule[] {
  const { propertyName: property, constraints } = rule;
  // The library's types say that a rule always has a message.
  const { message: ownMessage } = rule as Partial<Metadata>;
  const args = argumentsOf(rule);
  return getMetadataStorage()
    .getTargetValidatorConstraints(rule.constraintCls)
    .map(({ instance }) => {
      const holds = (value: unknown): boolean => instance.validate(value, args) === true;
      const message = ownMessage ?? ((given: ValidationArguments) => instance.defaultMessage?.(given) ?? 'is invalid');
      return {
        holds: rule.each ? (value) => (Array.isArray(value) ? value.every(holds) : holds(value)) : holds,
        messageFor: (value) => textOf(message, { property, constraints, targetName: '', object: {}, value }),
      };
    });
}

/** Returns a message with class-validator's placeholders filled in. */
function textOf(message: Metadata['message'], args: ValidationArguments): string {
  const text = typeof message === 'function' ? message(args) : message;
  return text.replaceAll('$property', args.property).replaceAll(/\$constraint(\d)/g, (_, n: string) => String(args.constraints[Number(n) - 1]));
}

/** Returns a rule's arguments without the object and the value: a rule that reads them throws instead of passing silently. */
function argumentsOf({ propertyName, constraints }: Metadata): ValidationArguments {
  const missing = (what: string) => (): never => {
    throw new Error(`A rule of ${propertyName} reads ${what}, which the compiled validator does not provide.`);
  };
  return Object.defineProperties({ property: propertyName, constraints, targetName: '' } as unknown as ValidationArguments, {
    object: { get: missing('its object') },
    value: { get: missing('the value among its arguments') },
  });
}

/** RFC 6901 */
const pointerPart = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns a payload as an instance of its class. Reads only declared members. Never converts types: "7" is not 7.
 * @throws CodedError `invalid-input` with a pointer for each invalid field
 */
export function validated<T extends object>(type: Type<T>, value: unknown): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidInput([{ pointer: '', detail: 'must be a JSON object' }]);
  if ((type as unknown) === NoPayload) return new type();
  const errors: FieldError[] = [];
  const instance = compiledValidatorOf(type)(value as Readonly<Record<string, unknown>>, '', errors);
  if (errors.length > 0) throw invalidInput(errors);
  return instance;
}

/** @throws CodedError `invalid-input` when the bytes are not UTF-8 JSON */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  try {
    // Faster than a `TextDecoder` for short texts.
    if (!isUtf8(bytes)) throw new TypeError('not UTF-8');
    return JSON.parse(bytes.toString()) as unknown;
  } catch (cause) {
    throw new CodedError('invalid-input', 'The payload is not JSON.', {}, { cause });
  }
}
