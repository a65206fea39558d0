import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

// The OpenAPI document as the judge of every answer: what it does not say may not come.

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

interface Place {
  readonly pattern: RegExp;
  readonly item: PathItem;
}

/** What is refused before anybody has looked for a route. */
const beforeRoutes = ['malformed-request', 'headers-too-large', 'request-timeout', 'uri-too-long'];

export class DocumentJudge {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });
  private readonly validators = new WeakMap<object, ValidateFunction>();
  private readonly places: readonly Place[];
  /** Under this path, nothing is served that is not in the document. */
  private readonly base: string;

  constructor(private readonly document: Document) {
    formats.default(this.ajv);
    this.ajv.addSchema({ ...(closed(document) as object), $id: 'document' });
    this.base = pathOf(document.servers);
    this.places = Object.entries(document.paths)
      // A path without parameters wins over one that has some.
      .sort(([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')))
      .map(([path, item]) => ({ item, pattern: patternOf(pathOf(item.servers ?? document.servers) + path) }));
  }

  /** What is wrong with the answer; empty when the document says all of it. */
  faultsOf(method: string, pathname: string, received: Received): string[] {
    const place = this.places.find(({ pattern }) => pattern.test(pathname));
    if (!place) return pathname.startsWith(`${this.base}/`) ? this.expectCode(method, ['route-not-found'], received) : [];
    const operation = place.item[method === 'HEAD' ? 'get' : method.toLowerCase()] as Operation | undefined;
    if (!operation) return this.expectCode(method, ['method-not-allowed'], received);
    // The document names no HEAD: it is there for most of what GET is, and where it is not, Allow says so.
    if (method === 'HEAD' && received.status === 405) return this.expectCode(method, ['method-not-allowed'], received);
    const response = operation.responses[String(received.status)];
    if (!response) return [`${operation.operationId} does not document ${received.status} (${String(codeOf(received))})`];
    return this.faultsIn(this.resolved(response), method, received).map((fault) => `${operation.operationId}: ${fault}`);
  }

  private expectCode(method: string, expected: readonly string[], received: Received): string[] {
    const code = codeOf(received);
    // The answer to HEAD says no more than its status, and which methods there are.
    if (method === 'HEAD' && [400, 404, 414, 431].includes(received.status)) return [];
    if (method === 'HEAD' && received.status === 405) return received.headers.has('allow') ? [] : ['the header Allow is missing'];
    const found = [...expected, ...beforeRoutes].find((one) => one === code);
    if (found === undefined) return [`it is not documented, and was answered ${received.status} (${String(code)})`];
    const { responses } = this.document.components;
    return this.faultsIn(this.resolved(responses[found]!), 'GET', received);
  }

  private faultsIn({ headers = {}, content }: Response, method: string, received: Received): string[] {
    const faults = Object.entries(headers).flatMap(([name, header]) => this.headerFaults(name, this.resolved(header), received));
    if (method === 'HEAD') return faults;
    if (!content) return received.body === '' ? faults : [...faults, 'there is a body'];
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
    const known = this.validators.get(schema);
    if (known) return known;
    const made = this.ajv.compile(withinDocument(closed(schema) as object));
    this.validators.set(schema, made);
    return made;
  }

  private resolved<T extends object>(one: T | Reference): T {
    if (!('$ref' in one)) return one;
    return one.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], this.document) as T;
  }
}

/** What is wrong with a value, by the schema at a JSON pointer of a document. */
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

/** Readers must ignore members that they do not know; these tests must not, or the document would fall behind. */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const inner = Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, closed(one)]));
  const isWhole = 'properties' in schema && !('$ref' in schema) && !('additionalProperties' in schema);
  return isWhole && (schema as { type?: unknown }).type === 'object' ? { ...inner, additionalProperties: false } : inner;
}
