import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NoAnswer, type RawAnswer, RawHttp, type RawRequest } from '../raw-http.js';
import { gatewayUrl, ok, send } from '../shop.js';
import { accessTable, type Line } from './access-table.js';
import { allCallers, type Caller } from './callers.js';

type Outcome = 'let in' | 'unauthorized' | 'forbidden' | 'nothing there' | 'no such method';

/** Ways to write a path of which each must lead to the same line of the table. */
const sameRoute: Record<string, (request: RawRequest) => RawRequest> = {
  'as it is': (request) => request,
  'an encoded letter': (request) => ({ ...request, target: request.target.replace(/\/([a-z])(?=[a-z]*)/g, (_, letter: string) => `/%${letter.charCodeAt(0).toString(16)}`) }),
  'the whole address': (request) => ({ ...request, target: `http://elsewhere.example${request.target}` }),
  'a query with a key': (request) => ({ ...request, target: `${request.target}?api_key=special-key&access_token=x` }),
  'another method in a header': (request) => ({ ...request, headers: [...request.headers, ['x-http-method-override', 'GET']] }),
  'another path in a header': (request) => ({ ...request, headers: [...request.headers, ['x-original-url', '/livez'], ['x-rewrite-url', '/livez']] }),
  'claims about proxies': (request) => ({ ...request, headers: [...request.headers, ['x-forwarded-for', '127.0.0.1'], ['forwarded', 'for=127.0.0.1']] }),
};

/** Ways that lead nowhere, whoever asks. */
const noRoute: Record<string, (target: string) => string> = {
  'a slash behind': (target) => `${target}/`,
  'a doubled slash': (target) => `/${target}`,
  'a doubled slash inside': (target) => target.replace(/^\/(\w+)\//, '/$1//'),
  'an encoded slash': (target) => target.replace(/^\/(\w+)\//, '/$1%2F'),
  'capitals': (target) => target.replace(/^\/\w+(\/[a-z]+)?/, (start) => start.toUpperCase()),
  'a dot': (target) => `/.${target}`,
  'two dots': (target) => `/x/..${target}`,
  'encoded dots': (target) => `/%2e%2e${target}`,
  'a backslash': (target) => `/\\${target}`,
  'an encoded space': (target) => target.replace(/^\/(\w+)/, '/$1%20'),
  'an encoded NUL': (target) => target.replace(/^\/(\w+)/, '/$1%00'),
  'a parameter of the path': (target) => target.replace(/^\/(\w+)/, '/$1;a=b'),
};

const tally = { tried: 0, refused: 0, wrong: [] as string[] };

describe('who may do what', () => {
  const http = new RawHttp(gatewayUrl());
  let callers: readonly Caller[];
  let user: string;
  beforeAll(async () => {
    ({ callers, user } = await allCallers());
  }, 60_000);
  afterAll(() => {
    http.close();
    process.stdout.write(`access: ${callers.length} kinds of callers, ${accessTable.length} operations: ${tally.tried} tried, ${tally.refused} refused, ${tally.wrong.length} wrong\n`);
  });

  const requestOf = ({ method, path, body, sent }: Line, caller: Caller): RawRequest => ({
    method,
    target: path.replace('{user}', user),
    headers: [...caller.headers, ['if-match', '"999999"'], ...(body === undefined ? [] : [['content-type', sent === undefined ? 'text/plain' : 'application/json'] as const])],
    ...(body !== undefined && { body: Buffer.from(sent === undefined ? 'x' : JSON.stringify(sent)) }),
  });
  const check = async (what: string, request: RawRequest, expected: readonly Outcome[]): Promise<void> => {
    tally.tried++;
    const got = outcomeOf(await http.send(request, 15_000).catch(orNoAnswer), request.method);
    if (got !== 'let in') tally.refused++;
    if (!expected.includes(got as Outcome)) tally.wrong.push(`${what}: ${request.method} ${request.target} was ${got}, not ${expected.join(' or ')}`);
  };
  /** All of them, a few at a time; what was wrong. */
  const checkAll = async (checks: readonly (readonly [what: string, request: RawRequest, expected: readonly Outcome[]])[]): Promise<string[]> => {
    const before = tally.wrong.length;
    const waiting = checks.values();
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (const one of waiting) await check(...one);
      }),
    );
    return tally.wrong.slice(before, before + 20);
  };
  const theLine = (line: Line, caller: Caller): readonly Outcome[] => [expectedOf(line, caller, user)];
  const some = (): Caller[] => callers.filter(({ name }) => ['nobody', 'a made-up key', "customer's key", 'admin key', 'admin token'].includes(name));

  it('is told by the document as by the table', async () => {
    const document = await ok(send<Document>('GET', '/v3/openapi.json'));
    const told = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).filter(([, one]) => 'operationId' in one).map(([method, one]) => ({ operation: one.operationId, at: `${method} ${path.replaceAll(/\{\w+\}/g, '*')}`, needs: toldNeeds(one) })),
    );
    const written = accessTable.map((line) => ({ operation: line.operation, at: placeOf(line), needs: writtenNeeds(line) }));
    const byName = (one: { operation: string }, other: { operation: string }) => (one.operation < other.operation ? -1 : 1);
    expect(told.sort(byName)).toEqual(written.sort(byName));
  });

  it('is the same for every kind of credential, good and bad, as the table says', async () => {
    const checks = accessTable.flatMap((line) =>
      callers.filter((caller) => !endsIt(line, caller, user)).map((caller) => [`${line.operation} by ${caller.name}`, requestOf(line, caller), theLine(line, caller)] as const),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('does not depend on how the path is written', async () => {
    const checks = accessTable.flatMap((line) =>
      some().filter((caller) => !endsIt(line, caller, user)).flatMap((caller) => [
        ...Object.entries(sameRoute).map(([way, change]) => [`${line.operation} by ${caller.name}, ${way}`, change(requestOf(line, caller)), theLine(line, caller)] as const),
        ...(hasHead(line) ? [[`${line.operation} by ${caller.name}, HEAD`, { ...requestOf(line, caller), method: 'HEAD' }, theLine(line, caller)] as const] : []),
      ]),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('is nothing at all beside the paths that there are, whoever asks', async () => {
    const checks = accessTable.flatMap((line) =>
      some().flatMap((caller) =>
        Object.entries(noRoute)
          .map(([way, change]) => ({ way, target: change(requestOf(line, caller).target) }))
          .filter(({ target }) => target !== requestOf(line, caller).target)
          .map(({ way, target }) => [`${line.operation} by ${caller.name}, ${way}`, { ...requestOf(line, caller), target }, ['nothing there']] as const),
      ),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('is nothing by methods that a path does not have, whoever asks', async () => {
    const checks = accessTable.flatMap((line) =>
      some().flatMap((caller) =>
        ['OPTIONS', 'TRACE', 'PATCH', 'PROPFIND', ...(accessTable.some((one) => one.path === line.path && hasHead(one)) ? [] : ['HEAD'])].map(
          (method) => [`${line.operation} by ${caller.name}, ${method}`, { ...requestOf(line, caller), method }, ['no such method']] as const,
        ),
      ),
    );
    // A path that a parameter also matches is not without GET.
    const isShadowed = ({ method, target }: RawRequest): boolean => method === 'HEAD' && target.endsWith("/user/createWithList");
    expect(await checkAll(checks.filter(([, request]) => !isShadowed(request)))).toEqual([]);
  }, 60_000);
});

interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const placeOf = ({ method, path }: Line): string =>
  `${method.toLowerCase()} ${path.replace(/^\/v3/, '').replaceAll(/\{user\}|\d{15}|[0-9a-f]{8}-[0-9a-f-]{27}/g, '*')}`;

/** What the document says of an operation, in the words of the table; people and tokens need the same, so one scheme tells. */
function toldNeeds({ security }: Operation): string {
  if (security.length === 0) return 'nothing looked at';
  if (security.some((one) => Object.keys(one).length === 0)) return 'nothing';
  const named = new Set(security.flatMap((one) => one['oauth2'] ?? []));
  const anyKey = security.some((one) => one['apiKey']?.length === 0);
  if (named.size === 0) return 'in person';
  return [...(anyKey ? ['any key'] : []), ...named].sort().join();
}

function writtenNeeds({ operation, needs }: Line): string {
  // It takes a session where there is one, which the document says.
  if (operation === 'logout') return 'nothing';
  return typeof needs === 'string' ? needs : [...needs].sort().join();
}

function expectedOf({ needs }: Line, { carries }: Caller, user: string): Outcome {
  if (needs === 'nothing looked at' || needs === 'nothing') return 'let in';
  if (carries === 'refused' || carries === undefined) return 'unauthorized';
  const may = needs === 'in person' ? carries.sessionOf === user || carries.permissions.includes('write:users') : needs.some((one) => (one === 'any key' ? carries.key === true : carries.permissions.includes(one)));
  return may ? 'let in' : 'forbidden';
}

/** Every GET but those that the specification has change something. */
const hasHead = ({ method, operation }: Line): boolean => method === 'GET' && operation !== 'login' && operation !== 'logout';

/** Logging out would take its session from the tests behind it. */
const endsIt = (line: Line, caller: Caller, user: string): boolean =>
  line.operation === 'logout'
    ? caller.headers.some(([name]) => name !== 'api_key')
    : line.operation === 'endSessions' && expectedOf(line, caller, user) === 'let in';

function outcomeOf(answer: RawAnswer | NoAnswer, method: string): string {
  if (answer instanceof NoAnswer) return `no answer (${answer.reason})`;
  const { status, headers, body } = answer;
  const saysHow = headers.has('www-authenticate');
  // A 403 of a service, which knows whose things are whose, is not about what was shown.
  if (saysHow ? status !== 401 && status !== 403 : status === 401) return `${status} ${saysHow ? 'with' : 'without'} WWW-Authenticate`;
  const code = method === 'HEAD' ? undefined : (/"code":"([\w-]+)"/.exec(body.toString())?.[1] ?? '');
  const is = (expected: number, ...codes: string[]): boolean => status === expected && (code === undefined || codes.includes(code));
  if (is(401, 'unauthorized', 'credential-refused')) return 'unauthorized';
  if (is(403, 'forbidden')) return 'forbidden';
  if (is(404, 'route-not-found') && method !== 'HEAD') return 'nothing there';
  if (is(405, 'method-not-allowed')) return 'no such method';
  const isAhead = status === 503 && (code === undefined || code === 'unknown-operation');
  return status < 500 || isAhead ? 'let in' : `${status} ${code ?? ''}`;
}

function orNoAnswer(error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error;
  throw error;
}
