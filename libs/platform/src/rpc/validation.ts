import { isUtf8 } from 'node:buffer';
import type { Type } from '@nestjs/common';
import { CodedError, type FieldError, invalidInput } from '../errors.js';
import { compiledValidatorOf } from './compiled-validator.js';
import { NoPayload } from './operation.js';

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
