import { isUtf8 } from 'node:buffer';
import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { CodedError, type FieldError, invalidInput } from '../errors.js';
import { compiledValidatorOf } from './compiled-validator.js';
import { NoPayload } from './operation.js';

/** Maximum nesting of objects and lists: 16 levels for the client's value, one for the payload around it. */
const maxDepth = 17;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const pointerPart = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/**
 * Returns the value without `null` members, which count as absent (list elements stay), and without members named
 * `constructor`, which class-transformer would call; at every depth.
 * @throws CodedError `invalid-input` for `__proto__` and for nesting beyond `maxDepth`, before class-transformer and
 * class-validator recurse into it
 */
function normalised(value: unknown, pointer = '', depth = 1): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > maxDepth) throw invalidInput([{ pointer: '', detail: `must be nested at most ${maxDepth - 1} levels deep` }]);
  if (Array.isArray(value)) return value.map((one, n) => normalised(one, `${pointer}/${n}`, depth + 1));
  const members: Record<string, unknown> = {};
  for (const [key, one] of Object.entries(value)) {
    if (key === '__proto__') throw invalidInput([{ pointer: `${pointer}/__proto__`, detail: 'is not a name of a field' }]);
    if (one === null || key === 'constructor') continue;
    members[key] = typeof one === 'object' ? normalised(one, pointer + pointerPart(key), depth + 1) : one;
  }
  return members;
}

function fieldErrorsOf(errors: readonly ValidationError[], parent = ''): FieldError[] {
  return errors.flatMap((error) => {
    const pointer = parent + pointerPart(error.property);
    const own = Object.values(error.constraints ?? {}).map((detail) => ({ pointer, detail }));
    return [...own, ...fieldErrorsOf(error.children ?? [], pointer)];
  });
}

/**
 * Caches the rules of each class. The library collects them again for every object, by searching all classes that it knows. They do
 * not change after a class is defined, and we use no groups.
 */
function cacheRules(): void {
  const storage = getMetadataStorage();
  const collect = storage.getTargetValidationMetadatas.bind(storage);
  const cached = new Map<unknown, ReturnType<typeof collect>>();
  storage.getTargetValidationMetadatas = (target, ...rest) => {
    let rules = cached.get(target);
    if (!rules) {
      rules = collect(target, ...rest);
      cached.set(target, rules);
    }
    return rules;
  };
}
cacheRules();

/**
 * Returns a payload as an instance of its class, without undeclared members. Never converts types: "7" is not 7.
 * @throws CodedError `invalid-input` with a pointer for each invalid field
 */
export function validated<T extends object>(type: ClassConstructor<T>, value: unknown): T {
  if (!isObject(value)) throw invalidInput([{ pointer: '', detail: 'must be a JSON object' }]);
  // class-validator treats an object whose class has no rules as an unknown value.
  if ((type as unknown) === NoPayload) return new type();
  return compiledValidatorOf(type)(value) ?? validatedByLibrary(type, value);
}

/**
 * Validates an object with class-validator, without the compiled validator.
 * @throws CodedError `invalid-input` with a pointer for each invalid field
 */
export function validatedByLibrary<T extends object>(type: ClassConstructor<T>, value: object): T {
  const instance = plainToInstance(type, normalised(value), { enableImplicitConversion: false });
  const errors = validateSync(instance, { whitelist: true, forbidUnknownValues: true, stopAtFirstError: true });
  if (errors.length > 0) throw invalidInput(fieldErrorsOf(errors));
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
