import { CodedError } from './errors.js';
/** Names whose values must never reach a log, however they are spelt: `password`, `apiKey`, `api_key`, `accessToken`, … */
const secretName = /pass(word|wd|phrase)|secret|token|authorization|cookie|credential|api[-_]?key|private[-_]?key|^key$|^ur[il]$/i;

const censored = '[redacted]';
const maxDepth = 6;

/** Names of fields are few, and each stands in very many lines. */
const judgedNames = new Map<string, boolean>();
const maxJudgedNames = 1_000;

function isSecretName(name: string): boolean {
  const known = judgedNames.get(name);
  if (known !== undefined) return known;
  const isSecret = secretName.test(name);
  if (judgedNames.size < maxJudgedNames) judgedNames.set(name, isSecret);
  return isSecret;
}

/** Connection strings carry passwords, and drivers put them into messages; a query string may hold a key. */
export function withoutCredentials(text: string): string {
  // Most texts of a log can hold neither, and a line is written for every request.
  if (!text.includes('=') && !text.includes('://')) return text;
  return text
    .replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s'"<>]*@/gi, '$1…@')
    .replaceAll(/((?:api_key|password|token|secret)=)[^&\s'"]+/gi, `$1${censored}`);
}

/** Why something failed, in one line for operators. Several failed addresses of one host have a code and no message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return withoutCredentials(String(error));
  const { code } = error as { readonly code?: unknown };
  return withoutCredentials(error.message === '' && typeof code === 'string' ? code : error.message);
}

/** What of an error is worth a line: neither the rows that Postgres adds nor the parameters that TypeORM adds. */
export function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return redacted(error);
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    message: withoutCredentials(error.message),
    // A coded error was meant: where it was thrown says nothing that its code does not.
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

/** A copy of the fields of a log entry with nothing secret in it, at any depth. */
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
