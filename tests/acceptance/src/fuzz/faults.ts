import type { DocumentJudge } from '../document.js';
import type { RawAnswer, RawRequest } from '../raw-http.js';

/** Of our inside, which no client may see. */
const inside = /\bat .{1,200}\.[jt]s:\d|node_modules|node:internal|\/(dist|src)\/\w|SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|violates \w+ constraint|\bpg_|relation ".*" does|syntax error at or near|ECONNREFUSED|postgres(ql)?:\/\/|nats:\/\/|\$argon2/i;

/**
 * What is wrong with an answer, whatever was asked: by the document, and by rules that hold for every answer.
 * @param secrets credentials that were shown, and what else no answer may hold
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
      return ['the body is no JSON'];
    }
  }
  const faults: string[] = [];
  const add = (when: boolean, fault: string): void => {
    if (when) faults.push(fault);
  };
  // A machine that has no time for the shop may make it busy; but nothing is killed, so no answer can be lost.
  const isBusy = status === 503 && (body as { code?: string }).code !== 'outcome-unknown';
  add(status >= 500 && !isBusy, `a defect: ${status}`);
  add(isProblem && isBusy && !headers.has('retry-after'), '503 without Retry-After');
  add(!/^[\w.-]{1,128}$/.test(headers.get('x-request-id') ?? ''), 'no X-Request-Id');
  add(headers.get('x-content-type-options') !== 'nosniff', 'no X-Content-Type-Options');
  add(headers.has('server') || headers.has('x-powered-by'), 'it says what it is made of');
  if (isProblem) {
    const { instance, ...own } = body as { instance?: string };
    const said = JSON.stringify(own);
    add(inside.test(said), 'our inside in a problem');
    add(instance?.includes('?') === true, 'the query in a problem');
    add(secrets.some((secret) => said.includes(secret)), 'a secret in a problem');
  }
  const pathname = pathnameOf(request.target);
  if (pathname !== undefined) faults.push(...judge.faultsOf(request.method, pathname, { status, headers, body }));
  return faults;
}

/** The path as the router reads it; `undefined` when it has none to read. */
function pathnameOf(target: string): string | undefined {
  const path = target.replace(/^https?:\/\/.*?\//, '/').replace(/[?# ].*$/s, '');
  try {
    return path.startsWith('/') ? decodeURI(Buffer.from(path, 'latin1').toString('utf8')) : undefined;
  } catch {
    return undefined;
  }
}
