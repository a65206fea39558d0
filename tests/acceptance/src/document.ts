import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

// Validates answers against the OpenAPI document: everything undocumented is a fault.

interface Header {
  readonly required?: boolean;
  readonly schema: object;
}
interface Reference {
  readonly $ref: string;
}
interface Response {
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response | Reference>>;
}
interface PathItem {
  readonly servers?: readonly { readonly url: string }[];
  readonly [method: string]: unknown;
}
export interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>>; readonly [kind: string]: unknown };
}

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Route {
  readonly pattern: RegExp;
  readonly item: PathItem;
}

/** Codes of requests that are refused before routing. */
const beforeRoutes = ['malformed-request', 'expectation-failed', 'headers-too-large', 'request-timeout', 'uri-too-long'];

export class DocumentJudge {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });
  private readonly validators = new WeakMap<object, ValidateFunction>();
  private readonly routes: readonly Route[];
  /** Every route below this path must be documented. */
  private readonly base: string;

  constructor(private readonly document: Document) {
    formats.default(this.ajv);
    this.ajv.addSchema({ ...(closed(document) as object), $id: 'document' });
    this.base = pathOf(document.servers);
    this.routes = Object.entries(document.paths)
      // Paths without parameters take precedence.
      .sort(([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')))
      .map(([path, item]) => ({ item, pattern: patternOf(pathOf(item.servers ?? document.servers) + path) }));
  }

  /** Returns the deviations of an answer from the document. */
  faultsOf(method: string, pathname: string, received: Received): string[] {
    const route = this.routes.find(({ pattern }) => pattern.test(pathname));
    if (!route) return pathname.startsWith(`${this.base}/`) ? this.expectCode(method, ['route-not-found'], received) : [];
    const operation = route.item[method === 'HEAD' ? 'get' : method.toLowerCase()] as Operation | undefined;
    if (!operation) return this.expectCode(method, ['method-not-allowed'], received);
    // The document does not mention HEAD. Most GET operations support it; the others answer 405 with Allow.
    if (method === 'HEAD' && received.status === 405) return this.expectCode(method, ['method-not-allowed'], received);
    const response = operation.responses[String(received.status)];
    if (!response) return [`${operation.operationId} does not document ${received.status} (${String(codeOf(received))})`];
    return this.faultsIn(this.resolved(response), method, received).map((fault) => `${operation.operationId}: ${fault}`);
  }

  private expectCode(method: string, expected: readonly string[], received: Received): string[] {
    const code = codeOf(received);
    // An answer to HEAD has no code, only a status and perhaps Allow.
    if (method === 'HEAD' && [400, 404, 414, 417, 431].includes(received.status)) return [];
    if (method === 'HEAD' && received.status === 405) return received.headers.has('allow') ? [] : ['the header Allow is missing'];
    const found = [...expected, ...beforeRoutes].find((one) => one === code);
    if (found === undefined) return [`the route is not documented, and answered ${received.status} (${String(code)})`];
    const { responses } = this.document.components;
    return this.faultsIn(this.resolved(responses[found]!), 'GET', received);
  }

  private faultsIn({ headers = {}, content }: Response, method: string, received: Received): string[] {
    const faults = Object.entries(headers).flatMap(([name, header]) => this.headerFaults(name, this.resolved(header), received));
    if (method === 'HEAD') return faults;
    if (!content) return received.body === '' ? faults : [...faults, 'the body is not documented'];
    const type = (received.headers.get('content-type') ?? '').split(';')[0] ?? '';
    const media = content[type] ?? content[type.replace(/\/.*/, '/*')];
    if (!media) return [...faults, `the Content-Type ${type} is not documented`];
    return /[/+]json$/.test(type) ? [...faults, ...this.schemaFaults(media.schema, received.body)] : faults;
  }

  private headerFaults(name: string, { required, schema }: Header, { headers }: Received): string[] {
    const value = headers.get(name);
    if (value === null) return required ? [`the header ${name} is missing`] : [];
    const isNumber = (schema as { type?: string }).type === 'integer';
    return this.schemaFaults(schema, isNumber ? Number(value) : value).map((fault) => `header ${name} ${fault}`);
  }

  private schemaFaults(schema: object, value: unknown): string[] {
    const validate = this.validatorOf(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`);
  }

  private validatorOf(schema: object): ValidateFunction {
    const cached = this.validators.get(schema);
    if (cached) return cached;
    const validator = this.ajv.compile(withinDocument(closed(schema) as object));
    this.validators.set(schema, validator);
    return validator;
  }

  private resolved<T extends object>(one: T | Reference): T {
    if (!('$ref' in one)) return one;
    return one.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], this.document) as T;
  }
}

/** Validates a value against the schema at a JSON pointer of a document. @returns the errors */
export function faultsAt(document: object, pointer: string, value: unknown): string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema({ ...(closed(document) as object), $id: 'document' });
  ajv.validate({ $ref: `document#${pointer}` }, value);
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
}

const codeOf = ({ body }: Received): unknown => (body as { code?: unknown } | null)?.code;

const pathOf = (servers: readonly { readonly url: string }[]): string => new URL(servers[0]?.url ?? '').pathname.replace(/\/$/, '');

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`);

const withinDocument = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as object;

/** Forbids additional members. Clients must ignore unknown members; these tests must not, so that the document stays complete. */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const inner = Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, closed(one)]));
  const isObject = 'properties' in schema && !('$ref' in schema) && !('additionalProperties' in schema);
  return isObject && (schema as { type?: unknown }).type === 'object' ? { ...inner, additionalProperties: false } : inner;
}
