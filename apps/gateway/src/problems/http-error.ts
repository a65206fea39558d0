import { CodedError, type ErrorDetails, type RequestError } from '@plant-shop/platform/errors';
import type { GatewayCode } from './problem-table.js';

/** An error that the gateway itself raises, with headers for the response. */
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

/** An invalid parameter of the path or query. @param must completes the sentence "<name> must …" */
export const badParameter = (name: string, must: string): HttpError =>
  badOutsideBody(`parameter ${name}`, { parameter: name, detail: `${name} ${must}` });

/** An invalid header. */
export const badHeader = (name: string, must: string): HttpError =>
  badOutsideBody(`header ${name}`, { header: name, detail: `${name} ${must}` });

const badOutsideBody = (what: string, fault: RequestError): HttpError =>
  new HttpError('invalid-input', `Correct the ${what} and send the request again.`, { errors: [fault] });

export const badField = (pointer: string, detail: string): HttpError =>
  new HttpError('invalid-input', 'Correct the fields named in errors and send the request again.', {
    errors: [{ pointer, detail }],
  });
