import { InvalidJson, NotModified, NotTheShop, type Outcome, type ProblemBody, ShopError, ShopProblem, Unreachable } from './errors.js';
import { retryAfterOf } from './repeat.js';

export type ParseAs = 'json' | 'text' | 'blob' | 'arrayBuffer' | 'stream';

/** Statuses with which proxies answer while the shop behind them is down. */
const passingStatuses = [429, 502, 503, 504];

/** An address without its query, which may contain a password: errors are logged. */
const withoutQuery = (address: string): string => address.split('?', 1).join();

/** Returns the body of a successful answer. @throws ShopProblem, NotTheShop, InvalidJson, NotModified, Unreachable */
export async function bodyOf(response: Response, address: string, parseAs: ParseAs): Promise<unknown> {
  const url = withoutQuery(address);
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  // Redirects are not followed: they would carry the credential to another server. Browsers show them as status 0.
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)) {
    throw new NotTheShop(url, status, type, `a redirect to ${withoutQuery(headers.get('location') ?? 'another address')}`, { outcome: 'refused' });
  }
  if (status === 304) throw new NotModified(headers.get('etag'));
  if (!response.ok) throw await problemOf(response, url);
  if (parseAs !== 'json' && !/^text\/html/i.test(type)) return parseAs === 'stream' ? response.body : read<unknown>(url, () => response[parseAs]());
  const text = await read(url, () => response.text());
  // The operation may have taken effect: a proxy may have replaced only the answer.
  if (!isJson(type)) throw new NotTheShop(url, status, type, text.slice(0, 200), { outcome: 'unknown' });
  return parsed(text, url, status);
}

/** Returns the error that an unsuccessful answer represents. */
export async function problemOf(response: Response, address: string): Promise<ShopError> {
  const url = withoutQuery(address);
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const text = await read(url, () => response.text());
  const retryAfterMs = retryAfterOf(headers);
  if (isJson(type)) {
    const body = parsed(text, url, status);
    if (isProblem(body)) return new ShopProblem(body, retryAfterMs);
  }
  const outcome: Outcome = passingStatuses.includes(status) || status >= 500 ? 'unknown' : 'refused';
  return new NotTheShop(url, status, type, text.slice(0, 200), { outcome, retryAfterMs });
}

const isJson = (type: string): boolean => /^application\/([\w.-]+\+)?json\b/i.test(type);

function isProblem(body: unknown): body is ProblemBody {
  if (typeof body !== 'object' || body === null) return false;
  const { code, status } = body as Partial<ProblemBody>;
  return typeof code === 'string' && typeof status === 'number';
}

function parsed(text: string, url: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidJson(url, status, text.slice(0, 200), { outcome: 'unknown', cause });
  }
}

/** Reads a body. @throws Unreachable if the connection breaks */
async function read<T>(url: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    throw lost(url, cause);
  }
}

/** Codes of failures to connect, after which nothing was sent. */
const notConnected = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];
/** Codes of failures that a repetition would not change. */
const wrongAddress = /^(ENOTFOUND|ERR_INVALID_URL|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|\w*SELF_SIGNED\w*|UNABLE_TO_\w+)$/;

/** Returns the error for a failed `fetch`. Node gives the reason in `cause`; browsers give none, so the outcome is unknown. */
export function lost(url: string, cause: unknown): Unreachable {
  const { cause: inner, code } = (cause ?? {}) as { readonly cause?: { readonly code?: unknown }; readonly code?: unknown };
  const given = inner?.code ?? code;
  const reason = typeof given === 'string' ? given : 'connection lost';
  const outcome = wrongAddress.test(reason) ? 'refused' : notConnected.includes(reason) ? 'not-done' : 'unknown';
  return new Unreachable(new URL(url).origin, reason, { outcome, cause });
}
