import { outcomeUnknown, unavailable } from '../errors.js';

/** Returns the SQLSTATE of a database error; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Returns the name of the violated constraint, if the error has one. */
export function constraintOf(error: unknown): string | undefined {
  const { constraint } = (error ?? {}) as { constraint?: unknown };
  return typeof constraint === 'string' ? constraint : undefined;
}

export const uniqueViolation = '23505';
export const undefinedTable = '42P01';
export const lockTimeout = '55P03';
export const statementTimeout = '57014';
/** The server ended a session that was idle in a transaction, which it rolled back. */
export const idleTimeout = '25P03';
const deadlock = '40P01';
const serializationFailure = '40001';
const failedTransaction = '25P02';

/** Whether Postgres rolled the whole transaction back in favour of another one (deadlock, serialisation): running it again is safe. */
export const isRetryable = (error: unknown): boolean =>
  [deadlock, serializationFailure].includes(sqlStateOf(error) ?? '');

/** Whether Postgres refused the statement only because an earlier one of its transaction had failed. */
export const isOfFailedTransaction = (error: unknown): boolean => sqlStateOf(error) === failedTransaction;

/** Whether the statement failed on its data (SQLSTATE classes 22 and 23), so that other data could succeed. */
export const isDataError = (error: unknown): boolean => /^2[23]/.test(sqlStateOf(error) ?? '');

/**
 * Whether Postgres refused the statement because of what the schema has or the role may do (class 42, and a missing schema): a defect,
 * unless the schema is not the one that the service needs.
 */
export const isSchemaError = (error: unknown): boolean => /^(42...|3F000)$/.test(sqlStateOf(error) ?? '');

// Class 08, and the states of a server that shuts down, starts up or ends our session.
const connectionStates = /^(08...|57P0[1-5]|25P03)$/;
const connectionCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
const connectionTexts =
  /Connection terminated|timeout exceeded when trying to connect|is not queryable|Query read timeout|timeout expired/;

/** Whether the connection can no longer be used. */
export function isConnectionError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && (connectionStates.test(code) || connectionCodes.includes(code))) return true;
  return error instanceof Error && connectionTexts.test(error.message);
}

/** Whether the driver knew that the connection was dead, and sent nothing. */
const isUnsent = (error: unknown): boolean => error instanceof Error && error.message.includes('is not queryable');

// The server itself reports that it rolled the statement back: out of resources (class 53), lock timeout, statement timeout,
// a transaction that was idle, read-only standby after a failover.
const refusedStates = /^(53...|55P03|57014|25P03|25006)$/;

/**
 * The phase that failed:
 * - `connect`: no connection yet.
 * - `work`: inside a transaction, which is rolled back when its connection is lost.
 * - `commit`: a COMMIT or an autocommitted statement, which may have taken effect although its answer is lost.
 */
export type DatabasePhase = 'connect' | 'work' | 'commit';

/**
 * Translates an unreachable or overloaded database into `unavailable` or `outcome-unknown`; returns every other error unchanged.
 * This is the only place where database errors become codes.
 */
export function translateDatabaseError(error: unknown, during: DatabasePhase): unknown {
  if (during === 'connect' || refusedStates.test(sqlStateOf(error) ?? '')) return unavailable('The database', error);
  if (!isConnectionError(error)) return error;
  return during === 'commit' && !isUnsent(error)
    ? outcomeUnknown('The database', error)
    : unavailable('The database', error);
}
