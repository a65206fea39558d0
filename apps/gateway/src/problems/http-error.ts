import { CodedError, type ErrorDetails, type RequestError } from '@plant-shop/platform/errors';
import type { GatewayCode } from './problem-table.js';

/** What the gateway itself refuses, with the headers that belong to the answer. */
export class HttpError extends CodedError {
  constructor(
    code: GatewayCode | 'invalid-input' | 'payload-too-large' | 'forbidden' | 'credential-refused',
    message: string,
    details: ErrorDetails = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(code, message, details);
    this.name = 'HttpError';
  }
}

/** A parameter of the path or query that cannot be: `must` completes the sentence "<name> must …". */
export const badParameter = (name: string, must: string): HttpError =>
  badOutsideOfBody(`parameter ${name}`, { parameter: name, detail: `${name} ${must}` });

/** A header that cannot be. */
export const badHeader = (name: string, must: string): HttpError =>
  badOutsideOfBody(`header ${name}`, { header: name, detail: `${name} ${must}` });

const badOutsideOfBody = (what: string, fault: RequestError): HttpError =>
  new HttpError('invalid-input', `Correct the ${what} and send the request again.`, { errors: [fault] });

export const badField = (pointer: string, detail: string): HttpError =>
  new HttpError('invalid-input', 'Correct the fields named in errors and send the request again.', {
    errors: [{ pointer, detail }],
  });
