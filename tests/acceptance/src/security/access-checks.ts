import { NoAnswer, type RawAnswer, type RawRequest } from '../raw-http.js';
import { ok, send } from '../shop.js';
import type { AccessRow } from './access-table.js';
import type { Caller } from './callers.js';

export type Outcome = 'allowed' | 'unauthorized' | 'forbidden' | 'not found' | 'method not allowed';

/** The request of a row of the table, by a caller. @param user the one in paths */
export const requestOf = ({ method, path, body, json }: AccessRow, caller: Caller, user: string): RawRequest => ({
  method,
  target: path.replace('{user}', user),
  headers: [...caller.headers, ['if-match', '"999999"'], ...(body === undefined ? [] : [['content-type', json === undefined ? 'text/plain' : method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'] as const])],
  ...(body !== undefined && { body: Buffer.from(json === undefined ? 'x' : JSON.stringify(json)) }),
});

interface Rule {
  readonly operation: string;
  readonly at: string;
  readonly needs: string;
}
const byName = (one: Rule, other: Rule): number => (one.operation < other.operation ? -1 : 1);

/** The rules in the shop's OpenAPI document. */
export async function documentedRules(): Promise<Rule[]> {
  const document = await ok(send<Document>('GET', '/v3/openapi.json'));
  return Object.entries(document.paths)
    .flatMap(([path, item]) =>
      Object.entries(item).filter(([, one]) => 'operationId' in one).map(([method, one]) => ({ operation: one.operationId, at: `${method} ${path.replaceAll(/\{\w+\}/g, '*')}`, needs: documentedNeeds(one) })),
    )
    .sort(byName);
}

export const rulesOf = (table: readonly AccessRow[]): Rule[] =>
  table.map((line) => ({ operation: line.operation, at: routeOf(line), needs: expectedNeeds(line) })).sort(byName);

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

export function expectedOf({ needs, passesOn = [] }: AccessRow, { carries }: Caller, user: string): Outcome {
  if (needs === 'open' || needs === 'optional') return 'allowed';
  if (carries === 'refused' || carries === undefined) return 'unauthorized';
  if (needs === 'anyone') return 'allowed';
  const may = needs === 'self' ? carries.sessionOf === user || carries.permissions.includes('write:users') : needs.some((one) => (one === 'any key' ? carries.key === true : carries.permissions.includes(one)));
  return may && passesOn.every((one) => carries.permissions.includes(one)) ? 'allowed' : 'forbidden';
}

export function outcomeOf(answer: RawAnswer | NoAnswer, method: string): string {
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

export function orNoAnswer(error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error;
  throw error;
}
