import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NoAnswer, type RawAnswer, RawHttp, type RawRequest } from '../raw-http.js';
import { gatewayUrl, ok, send } from '../shop.js';
import { accessTable, type AccessRow } from './access-table.js';
import { allCallers, type Caller } from './callers.js';

type Outcome = 'allowed' | 'unauthorized' | 'forbidden' | 'not found' | 'method not allowed';

/** Variants of a request that must lead to the same row of the table. */
const sameRoute: Record<string, (request: RawRequest) => RawRequest> = {
  'unchanged': (request) => request,
  'an encoded letter': (request) => ({ ...request, target: request.target.replace(/\/([a-z])(?=[a-z]*)/g, (_, letter: string) => `/%${letter.charCodeAt(0).toString(16)}`) }),
  'an absolute URL': (request) => ({ ...request, target: `http://elsewhere.example${request.target}` }),
  'a query with a key': (request) => ({ ...request, target: `${request.target}?api_key=special-key&access_token=x` }),
  'another method in a header': (request) => ({ ...request, headers: [...request.headers, ['x-http-method-override', 'GET']] }),
  'another path in a header': (request) => ({ ...request, headers: [...request.headers, ['x-original-url', '/livez'], ['x-rewrite-url', '/livez']] }),
  'forwarding headers': (request) => ({ ...request, headers: [...request.headers, ['x-forwarded-for', '127.0.0.1'], ['forwarded', 'for=127.0.0.1']] }),
};

/** Variants of a path that match no route, for any caller. */
const noRoute: Record<string, (target: string) => string> = {
  'a trailing slash': (target) => `${target}/`,
  'a double slash in front': (target) => `/${target}`,
  'a double slash inside': (target) => target.replace(/^\/(\w+)\//, '/$1//'),
  'an encoded slash': (target) => target.replace(/^\/(\w+)\//, '/$1%2F'),
  'upper case': (target) => target.replace(/^\/\w+(\/[a-z]+)?/, (start) => start.toUpperCase()),
  'a dot': (target) => `/.${target}`,
  'two dots': (target) => `/x/..${target}`,
  'encoded dots': (target) => `/%2e%2e${target}`,
  'a backslash': (target) => `/\\${target}`,
  'an encoded space': (target) => target.replace(/^\/(\w+)/, '/$1%20'),
  'an encoded NUL': (target) => target.replace(/^\/(\w+)/, '/$1%00'),
  'a path parameter': (target) => target.replace(/^\/(\w+)/, '/$1;a=b'),
};

const tally = { tried: 0, refused: 0, wrong: [] as string[] };

describe('access control', () => {
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

  const requestOf = ({ method, path, body, json }: AccessRow, caller: Caller): RawRequest => ({
    method,
    target: path.replace('{user}', user),
    headers: [...caller.headers, ['if-match', '"999999"'], ...(body === undefined ? [] : [['content-type', json === undefined ? 'text/plain' : method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'] as const])],
    ...(body !== undefined && { body: Buffer.from(json === undefined ? 'x' : JSON.stringify(json)) }),
  });
  const check = async (what: string, request: RawRequest, expected: readonly Outcome[]): Promise<void> => {
    tally.tried++;
    const got = outcomeOf(await http.send(request, 15_000).catch(orNoAnswer), request.method);
    if (got !== 'allowed') tally.refused++;
    if (!expected.includes(got as Outcome)) tally.wrong.push(`${what}: ${request.method} ${request.target} was ${got}, not ${expected.join(' or ')}`);
  };
  /** Runs the checks, 16 at a time. @returns the first 20 failures */
  const checkAll = async (checks: readonly (readonly [what: string, request: RawRequest, expected: readonly Outcome[]])[]): Promise<string[]> => {
    const before = tally.wrong.length;
    const queue = checks.values();
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (const one of queue) await check(...one);
      }),
    );
    return tally.wrong.slice(before, before + 20);
  };
  const expectedFor = (line: AccessRow, caller: Caller): readonly Outcome[] => [expectedOf(line, caller, user)];
  const selected = (): Caller[] => callers.filter(({ name }) => ['anonymous', 'an unknown key', "customer's key", 'admin key', 'admin token'].includes(name));

  it('is described in the OpenAPI document as in the table', async () => {
    const document = await ok(send<Document>('GET', '/v3/openapi.json'));
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).filter(([, one]) => 'operationId' in one).map(([method, one]) => ({ operation: one.operationId, at: `${method} ${path.replaceAll(/\{\w+\}/g, '*')}`, needs: documentedNeeds(one) })),
    );
    const expected = accessTable.map((line) => ({ operation: line.operation, at: routeOf(line), needs: expectedNeeds(line) }));
    const byName = (one: { operation: string }, other: { operation: string }) => (one.operation < other.operation ? -1 : 1);
    expect(documented.sort(byName)).toEqual(expected.sort(byName));
  });

  it('follows the table for every kind of credential, valid and invalid', async () => {
    const checks = accessTable.flatMap((line) =>
      callers.filter((caller) => !endsSession(line, caller, user)).map((caller) => [`${line.operation} by ${caller.name}`, requestOf(line, caller), expectedFor(line, caller)] as const),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('does not depend on the spelling of the path or on misleading headers', async () => {
    const checks = accessTable.flatMap((line) =>
      selected().filter((caller) => !endsSession(line, caller, user)).flatMap((caller) => [
        ...Object.entries(sameRoute).filter(([way]) => !refusesParameters(line) || way !== 'a query with a key').map(([way, change]) => [`${line.operation} by ${caller.name}, ${way}`, change(requestOf(line, caller)), expectedFor(line, caller)] as const),
        ...(hasHead(line) ? [[`${line.operation} by ${caller.name}, HEAD`, { ...requestOf(line, caller), method: 'HEAD' }, expectedFor(line, caller)] as const] : []),
      ]),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('answers 404 for paths that match no route, for every caller', async () => {
    const checks = accessTable.flatMap((line) =>
      selected().flatMap((caller) =>
        Object.entries(noRoute)
          .map(([way, change]) => ({ way, target: change(requestOf(line, caller).target) }))
          .filter(({ target }) => target !== requestOf(line, caller).target)
          .map(({ way, target }) => [`${line.operation} by ${caller.name}, ${way}`, { ...requestOf(line, caller), target }, ['not found']] as const),
      ),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('answers 405 for methods that a path does not have, for every caller', async () => {
    const has = (path: string, is: (one: AccessRow) => boolean): boolean => accessTable.some((one) => one.path === path && is(one));
    const checks = accessTable.flatMap((line) =>
      selected().flatMap((caller) =>
        ['OPTIONS', 'TRACE', 'PROPFIND', ...(has(line.path, hasHead) ? [] : ['HEAD']), ...(has(line.path, ({ method }) => method === 'PATCH') ? [] : ['PATCH'])].map(
          (method) => [`${line.operation} by ${caller.name}, ${method}`, { ...requestOf(line, caller), method }, ['method not allowed']] as const,
        ),
      ),
    );
    // /user/createWithList matches the route /user/{username}, so HEAD and PATCH exist.
    const isShadowed = ({ method, target }: RawRequest): boolean => ['HEAD', 'PATCH'].includes(method) && target.endsWith("/user/createWithList");
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

const routeOf = ({ method, path }: AccessRow): string =>
  `${method.toLowerCase()} ${path.replace(/^\/v3/, '').replaceAll(/\{user\}|\d{15}|[0-9a-f]{8}-[0-9a-f-]{27}/g, '*')}`;

/** The access rule in the document, in the table's terms. Sessions and tokens need the same permissions, so one scheme suffices. */
function documentedNeeds({ security }: Operation): string {
  if (security.length === 0) return 'open';
  if (security.some((one) => Object.keys(one).length === 0)) return 'optional';
  const named = new Set(security.flatMap((one) => one['oauth2'] ?? []));
  const anyKey = security.some((one) => one['apiKey']?.length === 0);
  if (named.size === 0) return 'self';
  return [...(anyKey ? ['any key'] : []), ...named].sort().join();
}

function expectedNeeds({ operation, needs }: AccessRow): string {
  // Logout uses a session if there is one, so the document lists it as optional.
  if (operation === 'logout') return 'optional';
  if (needs === 'anyone') return 'self';
  return typeof needs === 'string' ? needs : [...needs].sort().join();
}

function expectedOf({ needs, passesOn = [] }: AccessRow, { carries }: Caller, user: string): Outcome {
  if (needs === 'open' || needs === 'optional') return 'allowed';
  if (carries === 'refused' || carries === undefined) return 'unauthorized';
  if (needs === 'anyone') return 'allowed';
  const may = needs === 'self' ? carries.sessionOf === user || carries.permissions.includes('write:users') : needs.some((one) => (one === 'any key' ? carries.key === true : carries.permissions.includes(one)));
  return may && passesOn.every((one) => carries.permissions.includes(one)) ? 'allowed' : 'forbidden';
}

/** It refuses parameters that it does not have (400), before the owner is compared. */
const refusesParameters = ({ operation }: AccessRow): boolean => operation === 'endSessions';

/** Every GET has HEAD, except the two of the specification that have side effects. */
const hasHead = ({ method, operation }: AccessRow): boolean => method === 'GET' && operation !== 'login' && operation !== 'logout';

/** Whether a request would end a session that later checks use. */
const endsSession = (line: AccessRow, caller: Caller, user: string): boolean =>
  line.operation === 'logout'
    ? caller.headers.some(([name]) => name !== 'api_key')
    : line.operation === 'endSessions' && expectedOf(line, caller, user) === 'allowed';

function outcomeOf(answer: RawAnswer | NoAnswer, method: string): string {
  if (answer instanceof NoAnswer) return `no answer (${answer.reason})`;
  const { status, headers, body } = answer;
  const hasChallenge = headers.has('www-authenticate');
  // A 403 from a service is about ownership, not about the credentials, so it has no challenge.
  if (hasChallenge ? status !== 401 && status !== 403 : status === 401) return `${status} ${hasChallenge ? 'with' : 'without'} WWW-Authenticate`;
  const code = method === 'HEAD' ? undefined : (/"code":"([\w-]+)"/.exec(body.toString())?.[1] ?? '');
  const is = (expected: number, ...codes: string[]): boolean => status === expected && (code === undefined || codes.includes(code));
  if (is(401, 'unauthorized', 'credential-refused')) return 'unauthorized';
  if (is(403, 'forbidden')) return 'forbidden';
  if (is(404, 'route-not-found') && method !== 'HEAD') return 'not found';
  if (is(405, 'method-not-allowed')) return 'method not allowed';
  const isNotDeployed = status === 503 && (code === undefined || code === 'unknown-operation');
  return status < 500 || isNotDeployed ? 'allowed' : `${status} ${code ?? ''}`;
}

function orNoAnswer(error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error;
  throw error;
}
