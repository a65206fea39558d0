import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import { CodedError, type FieldFault, invalidInput } from '../errors.js';
import { NoPayload } from './operation.js';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `null` in an optional field means absent, at every depth of the value; elements of lists are kept. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, withoutNulls(one)]])),
  );
}

const pointerPart = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

function faultsOf(errors: readonly ValidationError[], parent = ''): FieldFault[] {
  return errors.flatMap((error) => {
    const pointer = parent + pointerPart(error.property);
    const own = Object.values(error.constraints ?? {}).map((detail) => ({ pointer, detail }));
    return [...own, ...faultsOf(error.children ?? [], pointer)];
  });
}

/**
 * A payload as an instance of its class, with nothing in it that the class does not declare. Types are never
 * converted: "7" is not 7.
 * @throws CodedError `invalid-input` with a pointer for each fault
 */
export function validated<T extends object>(type: ClassConstructor<T>, value: unknown): T {
  if (!isObject(value)) throw invalidInput([{ pointer: '', detail: 'must be a JSON object' }]);
  // class-validator takes an object of a class without rules for one that it was not told about.
  if ((type as unknown) === NoPayload) return new type();
  const instance = plainToInstance(type, withoutNulls(value), { enableImplicitConversion: false });
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
