import { CodedError } from './errors.js';

/** Field names whose values must never reach a log, in any spelling: `password`, `apiKey`, `api_key`, `accessToken`, … */
const secretName = /pass(word|wd|phrase)|secret|token|authorization|cookie|credential|api[-_]?key|private[-_]?key|^key$|^ur[il]$/i;

const censored = '[redacted]';
const maxDepth = 6;

/** Caches the test of each field name: there are few names, and each occurs in very many lines. */
const secretNames = new Map<string, boolean>();
const maxSecretNames = 1_000;

function isSecretName(name: string): boolean {
  const known = secretNames.get(name);
  if (known !== undefined) return known;
  const isSecret = secretName.test(name);
  if (secretNames.size < maxSecretNames) secretNames.set(name, isSecret);
  return isSecret;
}

/**
 * Masks the credentials of connection strings, which drivers put into their messages, and the secret parameters of query strings.
 */
export function withoutCredentials(text: string): string {
  // Skips the regular expressions for most texts: a line is logged for every request.
  if (!text.includes('=') && !text.includes('://')) return text;
  return text
    .replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s'"<>]*@/gi, '$1…@')
    .replaceAll(/((?:api_key|password|token|secret)=)[^&\s'"]+/gi, `$1${censored}`);
}

/**
 * Returns the reason of a failure in one line for operators. Falls back to the code: Node's error for a host with several
 * unreachable addresses has no message.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return withoutCredentials(String(error));
  const { code } = error as { readonly code?: unknown };
  return withoutCredentials(error.message === '' && typeof code === 'string' ? code : error.message);
}

/** Returns the loggable fields of an error. Drops what drivers add: Postgres attaches rows, TypeORM attaches parameters. */
export function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return redacted(error);
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    message: withoutCredentials(error.message),
    // A coded error is deliberate: its stack adds nothing to its code.
    ...(error.stack !== undefined && !(error instanceof CodedError) && { stack: withoutCredentials(error.stack) }),
    ...(error.cause !== undefined && { cause: causeOf(error.cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.slice(0, 5).map(causeOf) }),
  };
}

function causeOf(cause: unknown): unknown {
  if (!(cause instanceof Error)) return redacted(cause);
  const { code } = cause as { code?: unknown };
  return withoutCredentials(typeof code === 'string' ? `${code}: ${cause.message}` : cause.message);
}

/** Returns a copy of a log entry's fields with all secrets masked, at any depth. */
export function redacted(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return withoutCredentials(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return errorFields(value);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth >= maxDepth) return '…';
  if (Array.isArray(value)) return value.map((one) => redacted(one, depth + 1));
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (name === '__proto__') continue;
    const one: unknown = (value as Record<string, unknown>)[name];
    fields[name] = one !== undefined && isSecretName(name) ? censored : redacted(one, depth + 1);
  }
  return fields;
}
