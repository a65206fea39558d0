import { outcomeUnknown, unavailable } from '../errors.js';

/** The SQLSTATE of an error of the driver, if it is one. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** The unique or check constraint that an error names. */
export function constraintOf(error: unknown): string | undefined {
  const { constraint } = (error ?? {}) as { constraint?: unknown };
  return typeof constraint === 'string' ? constraint : undefined;
}

export const uniqueViolation = '23505';
const deadlock = '40P01';
const serializationFailure = '40001';

/** The transaction was undone whole for the sake of another one: to run it again is safe. */
export const isRetryable = (error: unknown): boolean =>
  [deadlock, serializationFailure].includes(sqlStateOf(error) ?? '');

/** Classes 22 and 23: this data, and no other, is at fault. */
export const isDataError = (error: unknown): boolean => /^2[23]/.test(sqlStateOf(error) ?? '');

const connectionStates = ['57P01', '57P02', '57P03', '53300', '08000', '08003', '08006', '08001', '08004'];
const connectionCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'];
const connectionTexts =
  /Connection terminated|timeout exceeded when trying to connect|connection is not queryable|Client has encountered a connection error|Client was closed/;

export function isConnectionError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && (connectionStates.includes(code) || connectionCodes.includes(code))) return true;
  return error instanceof Error && connectionTexts.test(error.message);
}

/** The one place where a lost database becomes a code that callers know; every other error stays what it is. */
export function translateDatabaseError(error: unknown, during: 'work' | 'commit'): unknown {
  if (!isConnectionError(error)) return error;
  return during === 'commit' ? outcomeUnknown('The database', error) : unavailable('The database', error);
}
