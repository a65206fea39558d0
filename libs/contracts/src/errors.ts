import { CodedError, type ErrorDetails, type PlatformCode } from '@plant-shop/platform/errors';

/**
 * All codes that the shop's services may answer with, besides the platform's. The list is closed: the table of problems
 * (problem-table.ts) does not compile while a code is missing there.
 */
export const domainCodes = [
  'precondition-failed',
  'forbidden',
  // catalog
  'plant-not-found',
  'plant-exists',
  'plant-has-pending-orders',
  'image-not-found',
  'image-too-large',
  'image-type-refused',
  'upload-not-found',
  'too-many-photos',
  // store
  'plant-not-available',
  'insufficient-stock',
  'order-not-found',
  'order-exists',
  'order-not-cancellable',
  'order-not-payable',
  'order-transition-refused',
  'refund-not-found',
  'refund-completed',
  'customer-closed',
  // identity
  'user-not-found',
  'username-taken',
  'user-id-taken',
  'user-has-open-orders',
  'last-admin',
  'login-failed',
  'too-many-logins',
  'credential-refused',
  'api-key-not-found',
  'too-many-api-keys',
  'session-not-found',
  'oauth-client-not-found',
  'oauth-client-public',
  'too-many-oauth-clients',
  // notifications
  'webhook-not-found',
  'webhook-disabled',
  'too-many-webhooks',
  'delivery-not-found',
] as const;

export type DomainCode = (typeof domainCodes)[number];
export type ErrorCode = DomainCode | PlatformCode;

/** A refusal by a business rule. The message tells people what they can do; the details are for programs. */
export class DomainError extends CodedError {
  constructor(code: DomainCode, message: string, details: ErrorDetails = {}) {
    super(code, message, details);
    this.name = 'DomainError';
  }
}
