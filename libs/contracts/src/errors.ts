import { CodedError, type ErrorDetails, type PlatformCode } from '@plant-shop/platform/errors';
import type { HttpCode, ProblemCode } from './problem-table.js';

/** A code of a business rule: all codes of the table of problems, except the platform's and those of HTTP. */
export type DomainCode = Exclude<ProblemCode, PlatformCode | HttpCode>;
export type ErrorCode = DomainCode | PlatformCode;

/** A refusal by a business rule. The message tells people what they can do; the details are for programs. */
export class DomainError extends CodedError {
  constructor(code: DomainCode, message: string, details: ErrorDetails = {}) {
    super(code, message, details);
    this.name = 'DomainError';
  }
}
