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

// Class 08, and what a server says that goes down, comes up or ends our session.
const connectionStates = /^(08...|57P0[1-5]|25P03)$/;
const connectionCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
const connectionTexts =
  /Connection terminated|timeout exceeded when trying to connect|is not queryable|Query read timeout|timeout expired/;

/** The connection is of no more use. */
export function isConnectionError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && (connectionStates.test(code) || connectionCodes.includes(code))) return true;
  return error instanceof Error && connectionTexts.test(error.message);
}

/** The driver knew the connection to be dead and sent nothing. */
const isUnsent = (error: unknown): boolean => error instanceof Error && error.message.includes('is not queryable');

// The server says itself that it undid the statement: no room (class 53), a lock or a statement that took too long, a
// standby after a failover.
const refusedStates = /^(53...|55P03|57014|25006)$/;

/**
 * How far it came: no connection yet, at work in a transaction that is undone with its connection, or at a COMMIT (or a
 * statement that commits itself), which may have been carried out although its answer is lost.
 */
export type DatabasePhase = 'connect' | 'work' | 'commit';

/**
 * The one place where a database that is away or too busy becomes a code that callers know; every other error stays what
 * it is.
 */
export function translateDatabaseError(error: unknown, during: DatabasePhase): unknown {
  if (during === 'connect' || refusedStates.test(sqlStateOf(error) ?? '')) return unavailable('The database', error);
  if (!isConnectionError(error)) return error;
  return during === 'commit' && !isUnsent(error)
    ? outcomeUnknown('The database', error)
    : unavailable('The database', error);
}
