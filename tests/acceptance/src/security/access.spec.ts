import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawHttp, type RawRequest } from '../raw-http.js';
import { gatewayUrl } from '../shop.js';
import { documentedRules, expectedOf, orNoAnswer, type Outcome, outcomeOf, requestOf, rulesOf } from './access-checks.js';
import { accessTable, type AccessRow, sandboxTable } from './access-table.js';
import { allCallers, type Caller } from './callers.js';

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
    expect(await documentedRules()).toEqual(rulesOf(accessTable));
  });

  it('follows the table for every kind of credential, valid and invalid', async () => {
    const checks = accessTable.flatMap((line) =>
      callers.filter((caller) => !endsSession(line, caller, user)).map((caller) => [`${line.operation} by ${caller.name}`, requestOf(line, caller, user), expectedFor(line, caller)] as const),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('answers 404 for the operations of a sandbox, for every caller', async () => {
    const checks = sandboxTable.flatMap((line) => callers.map((caller) => [`${line.operation} by ${caller.name}`, requestOf(line, caller, user), ['not found']] as const));
    expect(await checkAll(checks)).toEqual([]);
  });

  it('does not depend on the spelling of the path or on misleading headers (slow)', async () => {
    const checks = accessTable.flatMap((line) =>
      selected().filter((caller) => !endsSession(line, caller, user)).flatMap((caller) => [
        ...Object.entries(sameRoute).filter(([way]) => !refusesParameters(line) || way !== 'a query with a key').map(([way, change]) => [`${line.operation} by ${caller.name}, ${way}`, change(requestOf(line, caller, user)), expectedFor(line, caller)] as const),
        ...(hasHead(line) ? [[`${line.operation} by ${caller.name}, HEAD`, { ...requestOf(line, caller, user), method: 'HEAD' }, expectedFor(line, caller)] as const] : []),
      ]),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('answers 404 for paths that match no route, for every caller (slow)', async () => {
    const checks = accessTable.flatMap((line) =>
      selected().flatMap((caller) =>
        Object.entries(noRoute)
          .map(([way, change]) => ({ way, target: change(requestOf(line, caller, user).target) }))
          .filter(({ target }) => target !== requestOf(line, caller, user).target)
          .map(({ way, target }) => [`${line.operation} by ${caller.name}, ${way}`, { ...requestOf(line, caller, user), target }, ['not found']] as const),
      ),
    );
    expect(await checkAll(checks)).toEqual([]);
  }, 60_000);

  it('answers 405 for methods that a path does not have, for every caller', async () => {
    const has = (path: string, is: (one: AccessRow) => boolean): boolean => accessTable.some((one) => one.path === path && is(one));
    const checks = accessTable.flatMap((line) =>
      selected().flatMap((caller) =>
        ['OPTIONS', 'TRACE', 'PROPFIND', ...(has(line.path, hasHead) ? [] : ['HEAD']), ...(has(line.path, ({ method }) => method === 'PATCH') ? [] : ['PATCH'])].map(
          (method) => [`${line.operation} by ${caller.name}, ${method}`, { ...requestOf(line, caller, user), method }, ['method not allowed']] as const,
        ),
      ),
    );
    // /user/createWithList matches the route /user/{username}, so HEAD and PATCH exist.
    const isShadowed = ({ method, target }: RawRequest): boolean => ['HEAD', 'PATCH'].includes(method) && target.endsWith("/user/createWithList");
    expect(await checkAll(checks.filter(([, request]) => !isShadowed(request)))).toEqual([]);
  }, 60_000);
});

/** It refuses parameters that it does not have (400), before the owner is compared. */
const refusesParameters = ({ operation }: AccessRow): boolean => operation === 'endSessions';

/** Every GET has HEAD, except the two of the specification that have side effects. */
const hasHead = ({ method, operation }: AccessRow): boolean => method === 'GET' && operation !== 'login' && operation !== 'logout';

/** Whether a request would end a session that later checks use. */
const endsSession = (line: AccessRow, caller: Caller, user: string): boolean =>
  line.operation === 'logout'
    ? caller.headers.some(([name]) => name !== 'api_key')
    : line.operation === 'endSessions' && expectedOf(line, caller, user) === 'allowed';
