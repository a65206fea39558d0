import { ShopProblem } from '@plant-shop/client';
import { fieldSentence } from './field-sentences.js';

/** The console itself refuses what the shop would do. */
export class Refusal extends Error {
  constructor(what: string, readonly todo: string) {
    super(what);
  }
}

export interface FieldFault {
  readonly field: string;
  /** A sentence for people. */
  readonly detail: string;
}

/** Returns the errors of single fields. */
export const faultsOf = (error: unknown): readonly FieldFault[] =>
  error instanceof ShopProblem ? error.errors.map(({ pointer, parameter, header, detail }) => ({ field: fieldOf(pointer ?? parameter ?? header), detail: `${entryOf(pointer)}${fieldSentence(detail)}` })) : [];

/** The field of a form: `/tags/0/name` → `tags`. */
export const fieldOf = (pointer = ''): string => pointer.split('/').find((part) => part !== '') ?? '';

/** Which of several it is: `/redirectUris/1` → `Entry 2: `. */
function entryOf(pointer = ''): string {
  const index = /^\/[^/]+\/(\d+)/.exec(pointer)?.[1];
  return index === undefined ? '' : `Entry ${Number(index) + 1}: `;
}

/** Returns the errors of a form's field, if it has one. */
export const faultOf = (error: unknown, field: string): string | undefined => faultsOf(error).filter((one) => one.field === field).map(({ detail }) => detail).join(' ') || undefined;
