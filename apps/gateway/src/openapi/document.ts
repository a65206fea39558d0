import type { ClientOperation } from '@plant-shop/contracts/client-operation';
import { clientOperations, sandboxOperations } from '@plant-shop/contracts/client-operations';
import { permissionMeanings as scopes } from '@plant-shop/contracts/permissions';
import { sampleOf } from '@plant-shop/contracts/samples';
import { schemaOfClass } from '@plant-shop/contracts/schema';
import { type Operation, takesIdempotencyKey } from '@plant-shop/platform/rpc/operation';
import { deprecationText } from '../http/headers.js';
import { otherExamples } from '../http/problem.js';
import type { RouteSpec } from '../http/route.js';
import type { ServedRoute } from '../http/route-checks.js';
import { headerRefs, headers, Schemas } from './components.js';
import { type Fields, headerParameter, headerParameters, namesInPath, parameterOf } from './parameters.js';
import {
  apiResponseSchema,
  codesOf,
  type DescribedResponse,
  ProblemResponses,
  problemSchema,
  refusedLineSchema,
  successResponses,
} from './responses.js';
import { requestBodyOf } from './request-body.js';
import { webhookEvents } from './webhook-events.js';

type Requirement = Readonly<Record<string, readonly string[]>>;

const securitySchemes = (publicUrl: string): object => ({
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'api_key',
    description: 'Created with `POST /user/{username}/apiKeys`, with its own permissions.',
  },
  oauth2: {
    type: 'oauth2',
    description: `Discovery: ${publicUrl}/.well-known/oauth-authorization-server`,
    flows: {
      clientCredentials: { tokenUrl: `${publicUrl}/oauth/token`, scopes },
      authorizationCode: {
        authorizationUrl: `${publicUrl}/oauth/authorize`,
        tokenUrl: `${publicUrl}/oauth/token`,
        refreshUrl: `${publicUrl}/oauth/token`,
        scopes,
      },
    },
  },
  session: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token that `GET /user/login` returns, with the permissions of its user.',
  },
  sessionToken: { type: 'apiKey', in: 'header', name: 'session_token', description: 'The session token in its own header.' },
});

const schemes = ['apiKey', 'oauth2', 'session', 'sessionToken'];
const sessions: readonly Requirement[] = [{ session: [] }, { sessionToken: [] }];
const anyOf = (named: readonly string[]): Requirement[] => schemes.map((scheme) => ({ [scheme]: named }));

/** Returns an operation's access policy as alternatives. For schemes other than OAuth too, the scopes name permissions. */
function securityOf({ access, readsSession }: ClientOperation): readonly Requirement[] {
  switch (access.kind) {
    case 'open':
      return readsSession ? [{}, ...sessions] : [];
    case 'optional':
      return [{}, ...anyOf([])];
    case 'authenticated':
      return anyOf([]);
    case 'permission':
      return [...(access.orKind ? [{ [access.orKind]: [] }] : []), ...access.anyOf.flatMap((one) => anyOf([one]))];
  }
}

const prefix = '/v3';

const description = `An online plant shop: a catalogue, orders that never oversell, users, and a stream of order events.

- Successful requests answer 200 with a JSON body. Errors are \`application/problem+json\` with a stable \`code\`; \`type\` links to a page
  that explains the error and what to do.
- \`null\` in an optional member means absent. A body with a member that its resource does not have is refused, and so are unknown
  parameters of our own lists (not \`findBy…\`), apart from names that begin with \`_\` or \`utm_\`. Members that only answers have are
  accepted and ignored, so that what was read can be changed and sent back. Types are never converted: "7" is not 7.
- A response has the type that its operation names here, whatever \`Accept\` says; \`q=0\` for just that type, or an
  \`Accept-Encoding\` that leaves no coding, gets 406. Bodies of requests must not be compressed (415).
- \`HEAD\` answers wherever \`GET\` changes nothing.
- If an operation requires a credential, every credential sent must be valid. Permissions of one user's credentials are combined.
  With credentials of several users, the session's user acts, without a session the API key's, and the others permit nothing. Other
  operations ignore invalid credentials.
- Entries of comma-separated lists may be surrounded by spaces. Date-times may also have the offsets \`+0000\` and \`+00\`.
- Lists are sorted newest first, unless stated otherwise. A page ends after \`limit\` entries or about 512 KiB; the header \`Link\` leads to the next page.
- JSON bodies are limited to 384 KiB, or 896 KiB if they are lists, 16 levels of nesting, 1,000 members per object and 50,000 values in all; forms to 64 KiB and
  1,000 fields, queries to 1,000 parameters.
- Operations that a later release removes are marked \`deprecated\`, and their responses have the headers \`Deprecation\` and \`Sunset\`.
  They work until the date in \`Sunset\`, at least 180 days after the date in \`Deprecation\`.
- Every GET operation also answers HEAD, except login and logout, which change state. Other methods of a known path answer 405; unknown
  paths answer 404.`;

const tags = [
  { name: 'Plants', description: 'The catalogue and its images' },
  { name: 'Store', description: 'Orders, refunds and stock' },
  { name: 'Users', description: 'Users, their sessions and API keys' },
  { name: 'OAuth', description: 'Clients that obtain access tokens; the discovery document lists the endpoints for tokens' },
  { name: 'Webhooks', description: 'Order events sent to a URL of yours' },
  { name: 'Shop', description: 'The shop as a whole' },
];
const sandboxTag = { name: 'Sandbox', description: 'Only in a sandbox, whose answers have the header `x-shop-mode: sandbox`. Other shops answer 404.' };

/**
 * Builds the OpenAPI 3.1 document from the served routes, the contracts and the problem table.
 * @throws Error if they contradict each other
 */
export function makeDocument(served: readonly ServedRoute[], publicUrl: string): object {
  const schemas = new Schemas();
  const problems = new ProblemResponses(publicUrl);
  schemas.put('Problem', { ...problemSchema, examples: otherExamples(publicUrl) });
  schemas.put('RefusedLine', refusedLineSchema);
  schemas.put('ApiResponse', apiResponseSchema);
  problems.of(['route-not-found']);
  problems.of(['method-not-allowed']);
  const paths: Record<string, Record<string, object>> = {};
  const ofSandbox = sandboxOperations.filter(({ name }) => served.some(({ spec }) => spec.operation === name));
  for (const operation of [...clientOperations, ...ofSandbox]) {
    const route = routeOf(operation, served);
    const path = pathOf(route.url);
    const isOutsidePrefix = path === route.url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= isOutsidePrefix ? { servers: [{ url: publicUrl }] as object } : {};
    paths[path][route.method.toLowerCase()] = describe(route, operation, schemas, problems);
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Plant shop', version: '3.0.0', description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: publicUrl + prefix }],
    tags: ofSandbox.length > 0 ? [...tags, sandboxTag] : tags,
    paths,
    webhooks: webhookEvents(schemas),
    components: {
      schemas: schemas.all,
      parameters: headerParameters,
      headers,
      responses: problems.all,
      securitySchemes: securitySchemes(publicUrl),
    },
  };
}

function routeOf({ name }: ClientOperation, served: readonly ServedRoute[]): ServedRoute {
  const [route, ...others] = served.filter((one) => one.spec.operation === name && one.method !== 'HEAD');
  if (!route || others.length > 0) throw new Error(`${name} is served by ${others.length + (route ? 1 : 0)} routes`);
  return route;
}

const pathOf = (url: string): string =>
  (url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : url).replaceAll(/:(\w+)/g, '{$1}');

function describe(route: ServedRoute, operation: ClientOperation, schemas: Schemas, problems: ProblemResponses): object {
  const { spec, method } = route;
  const [first] = operation.calls;
  const fields = fieldsOf(first);
  const codes = codesOf(route, operation);
  const takesKey = operation.calls.some(takesIdempotencyKey);
  const versioned = (first?.versioned ?? false) && operation.answer.kind === 'forwarded';
  return {
    operationId: operation.name,
    tags: [operation.tag],
    summary: operation.summary,
    ...descriptionOf(operation, spec),
    ...(spec.deprecated && { deprecated: true }),
    security: securityOf(operation),
    parameters: [
      ...namesInPath(route).map((name) => parameterOf(name, 'path', fields, schemas)),
      ...(operation.query ?? []).map((name) => parameterOf(name, 'query', fields, schemas)),
      ...(takesKey ? [headerParameter('IdempotencyKey')] : []),
      ...(spec.conditional ? [headerParameter('IfMatch')] : []),
      ...('currentPassword' in fields.properties ? [headerParameter('CurrentPassword'), headerParameter('CurrentCode')] : []),
      ...(method === 'GET' && (versioned || hasEtag(operation)) ? [headerParameter('IfNoneMatch')] : []),
      ...(operation.answer.kind === 'image' ? [headerParameter('Range'), headerParameter('IfRange')] : []),
      headerParameter('RequestId'),
    ],
    ...(spec.body && { requestBody: requestBodyOf(spec.body, fields, schemas) }),
    responses: {
      ...withDeprecationHeaders(spec, successResponses(route, operation, { schemas, example: first && sampleOf(first).answer, takesKey, versioned })),
      ...withoutReportStatus(problems.of(codes, operation.problemMembers), operation),
    },
  };
}

function descriptionOf({ description }: ClientOperation, { deprecated }: RouteSpec): { readonly description?: string } {
  const texts = [description, deprecated && deprecationText(deprecated)].filter((text) => text !== undefined);
  return texts.length === 0 ? {} : { description: texts.join(' ') };
}

/**
 * Adds the headers to success responses only. Error responses have them too, but share their descriptions with operations
 * that are not deprecated.
 */
function withDeprecationHeaders({ deprecated }: RouteSpec, responses: Record<string, DescribedResponse>): Record<string, object> {
  if (!deprecated) return responses;
  const own = headerRefs('Deprecation', 'Sunset');
  return Object.fromEntries(Object.entries(responses).map(([status, one]) => [status, { ...one, headers: { ...one.headers, ...own } }]));
}

const hasEtag = ({ answer }: ClientOperation): boolean => answer.kind === 'image' || (answer.kind === 'json' && answer.hasEtag === true);

/** Removes the problem response of a status with which the operation sends its own report. */
function withoutReportStatus(responses: Record<string, object>, { answer }: ClientOperation): Record<string, object> {
  const own = answer.kind === 'json' ? String(answer.alsoStatus) : undefined;
  return Object.fromEntries(Object.entries(responses).filter(([status]) => status !== own));
}

function fieldsOf(call: Operation<object, unknown> | undefined): Fields {
  if (!call) return { properties: {}, required: [], examples: {} };
  return { ...schemaOfClass(call.payload), examples: sampleOf(call).request as Fields['examples'] };
}
