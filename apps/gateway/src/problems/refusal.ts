import { CodedError, type ErrorDetails } from '@plant-shop/platform/errors';
import type { GatewayCode } from './problem-table.js';

/** One fault of a parameter in the path or query; those of a body have a `pointer` instead. */
export interface ParameterFault {
  readonly parameter: string;
  readonly detail: string;
}

/** What the gateway itself refuses, with the headers that belong to the answer. */
export class Refusal extends CodedError {
  constructor(
    code: GatewayCode | 'invalid-input' | 'payload-too-large' | 'forbidden' | 'credential-refused',
    message: string,
    details: ErrorDetails = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(code, message, details);
    this.name = 'Refusal';
  }
}

/** A parameter of the path or query that cannot be: `must` completes the sentence "<name> must …". */
export const badParameter = (name: string, must: string): Refusal => badOutsideOfBody('parameter', name, must);

/** A header that cannot be. */
export const badHeader = (name: string, must: string): Refusal => badOutsideOfBody('header', name, must);

const badOutsideOfBody = (kind: 'parameter' | 'header', name: string, must: string): Refusal =>
  new Refusal('invalid-input', `Correct the ${kind} ${name} and send the request again.`, {
    // It has no place in a JSON body that a pointer could name.
    errors: [{ [kind]: name, detail: `${name} ${must}` }] as unknown as NonNullable<ErrorDetails['errors']>,
  });

export const badField = (pointer: string, detail: string): Refusal =>
  new Refusal('invalid-input', 'Correct the fields named in errors and send the request again.', {
    errors: [{ pointer, detail }],
  });
