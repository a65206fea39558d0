import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { CodedError, type FieldError, invalidInput } from '../errors.js';
import { compiledValidatorOf } from './compiled-validator.js';
import { NoPayload } from './operation.js';

/** Levels of objects and lists: 16 for what a client sent, one for the payload around it. */
const maxDepth = 17;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const pointerPart = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/**
 * The value without what means nothing: `null` in an optional field is absent, at every depth (elements of lists are
 * kept), and so is a member named `constructor`, which class-transformer would call.
 * @throws CodedError `invalid-input` for `__proto__` and for deeper nesting than anything of ours has, before the recursion
 * of class-transformer and class-validator meets it
 */
function withoutNoise(value: unknown, pointer = '', depth = 1): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > maxDepth) throw invalidInput([{ pointer: '', detail: `must be nested at most ${maxDepth - 1} levels deep` }]);
  if (Array.isArray(value)) return value.map((one, n) => withoutNoise(one, `${pointer}/${n}`, depth + 1));
  const kept: Record<string, unknown> = {};
  for (const [key, one] of Object.entries(value)) {
    if (key === '__proto__') throw invalidInput([{ pointer: `${pointer}/__proto__`, detail: 'is not a name of a field' }]);
    if (one === null || key === 'constructor') continue;
    kept[key] = typeof one === 'object' ? withoutNoise(one, pointer + pointerPart(key), depth + 1) : one;
  }
  return kept;
}

function faultsOf(errors: readonly ValidationError[], parent = ''): FieldError[] {
  return errors.flatMap((error) => {
    const pointer = parent + pointerPart(error.property);
    const own = Object.values(error.constraints ?? {}).map((detail) => ({ pointer, detail }));
    return [...own, ...faultsOf(error.children ?? [], pointer)];
  });
}

/**
 * The library gathers the rules of a class anew for every object, going through all classes that it knows. They do not
 * change once a class is there, and we use no groups: they are gathered once.
 */
function gatherRulesOnce(): void {
  const storage = getMetadataStorage();
  const gather = storage.getTargetValidationMetadatas.bind(storage);
  const gathered = new Map<unknown, ReturnType<typeof gather>>();
  storage.getTargetValidationMetadatas = (target, ...rest) => {
    let rules = gathered.get(target);
    if (!rules) {
      rules = gather(target, ...rest);
      gathered.set(target, rules);
    }
    return rules;
  };
}
gatherRulesOnce();

/**
 * A payload as an instance of its class, with nothing in it that the class does not declare. Types are never
 * converted: "7" is not 7.
 * @throws CodedError `invalid-input` with a pointer for each fault
 */
export function validated<T extends object>(type: ClassConstructor<T>, value: unknown): T {
  if (!isObject(value)) throw invalidInput([{ pointer: '', detail: 'must be a JSON object' }]);
  // class-validator takes an object of a class without rules for one that it was not told about.
  if ((type as unknown) === NoPayload) return new type();
  return compiledValidatorOf(type)(value) ?? validatedByLibrary(type, value);
}

/**
 * The verdict of class-validator on an object, without the quick path.
 * @throws CodedError `invalid-input` with a pointer for each fault
 */
export function validatedByLibrary<T extends object>(type: ClassConstructor<T>, value: object): T {
  const instance = plainToInstance(type, withoutNoise(value), { enableImplicitConversion: false });
  const errors = validateSync(instance, { whitelist: true, forbidUnknownValues: true, stopAtFirstError: true });
  if (errors.length > 0) throw invalidInput(faultsOf(errors));
  return instance;
}

/** @throws CodedError `invalid-input` when the bytes are not UTF-8 JSON */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown;
  } catch (cause) {
    throw new CodedError('invalid-input', 'The payload is not JSON.', {}, { cause });
  }
}
const utf8 = new TextDecoder('utf-8', { fatal: true });
