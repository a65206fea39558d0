import type { DocumentJudge } from '../document.js';
import type { RawAnswer, RawRequest } from '../raw-http.js';

/** Traces of the implementation, which no client may see. */
const internals = /\bat .{1,200}\.[jt]s:\d|node_modules|node:internal|\/(dist|src)\/\w|SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|violates \w+ constraint|\bpg_|relation ".*" does|syntax error at or near|ECONNREFUSED|postgres(ql)?:\/\/|nats:\/\/|\$argon2/i;

/**
 * Returns the faults of an answer: deviations from the OpenAPI document, and violations of rules for every answer.
 * @param secrets credentials of the requests, and other texts that no answer may contain
 */
export function faultsOf(judge: DocumentJudge, request: RawRequest, answer: RawAnswer, secrets: readonly string[]): string[] {
  const { status, headers } = answer;
  const text = answer.body.toString('utf8');
  const isJson = /[/+]json/.test(headers.get('content-type') ?? '');
  const isProblem = (headers.get('content-type') ?? '').startsWith('application/problem+json');
  let body: unknown = text;
  if (isJson && text !== '') {
    try {
      body = JSON.parse(text) as unknown;
    } catch {
      return ['the body is not valid JSON'];
    }
  }
  const faults: string[] = [];
  const add = (when: boolean, fault: string): void => {
    if (when) faults.push(fault);
  };
  // A busy machine can overload the shop; but no process is killed, so no outcome may be unknown.
  const isBusy = status === 503 && (body as { code?: string }).code !== 'outcome-unknown';
  add(status >= 500 && !isBusy, `server error ${status}`);
  add(isProblem && isBusy && !headers.has('retry-after'), '503 without Retry-After');
  add(!/^[\w.-]{1,128}$/.test(headers.get('x-request-id') ?? ''), 'no X-Request-Id');
  add(headers.get('x-content-type-options') !== 'nosniff', 'no X-Content-Type-Options');
  add(headers.has('server') || headers.has('x-powered-by'), 'a header names the server software');
  if (isProblem) {
    const { instance, ...rest } = body as { instance?: string };
    const text = JSON.stringify(rest);
    add(internals.test(text), 'internals in a problem');
    add(instance?.includes('?') === true, 'the query in a problem');
    add(secrets.some((secret) => text.includes(secret)), 'a secret in a problem');
  }
  add(request.target === '/mcp' && internals.test(text), 'internals in a message to an agent');
  const pathname = pathnameOf(request.target);
  if (pathname !== undefined) faults.push(...judge.faultsOf(request.method, pathname, { status, headers, body }));
  return faults;
}

/** The path as the router decodes it; `undefined` if the target has no valid path. */
function pathnameOf(target: string): string | undefined {
  const path = target.replace(/^https?:\/\/.*?\//, '/').replace(/[?# ].*$/s, '');
  try {
    return path.startsWith('/') ? decodeURI(Buffer.from(path, 'latin1').toString('utf8')) : undefined;
  } catch {
    return undefined;
  }
}
