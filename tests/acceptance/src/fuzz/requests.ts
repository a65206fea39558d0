import fc from 'fast-check';
import type { RawRequest } from '../raw-http.js';
import { brokenFraming, brokenJson, contentTypes, extraMembers, hostileHeaders, otherMethods, pathChanges, queryTexts } from './hostile.js';
import { type Known, type Schema, Values } from './values.js';

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
  readonly required?: boolean;
}

export interface ApiDocument {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly parameters: Readonly<Record<string, Parameter>> };
}

export interface Target {
  readonly operationId: string;
  /** In the document. */
  readonly tags?: readonly string[];
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly type: string; readonly schema: Schema };
}

/** Headers by kind of credential. */
export type Credentials = Readonly<Record<string, readonly (readonly [string, string])[]>>;

export interface Generated {
  readonly operationId: string;
  /** Mutations that were applied to a valid request, in order. */
  readonly changes: readonly string[];
  readonly request: RawRequest;
}

/** Targets outside the document: pages and OAuth, to which only the general rules apply. */
const pages: readonly Target[] = [
  { operationId: 'oauthToken', method: 'POST', path: '/oauth/token', parameters: [], body: { type: 'application/x-www-form-urlencoded', schema: tokenForm() } },
  { operationId: 'agentMessage', method: 'POST', path: '/mcp', parameters: [agentAccept()], body: { type: 'application/json', schema: agentMessage(['tools/list', 'resources/read', 'initialize', 'subscriptions/listen'], { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] }) } },
  ...['/.well-known/openid-configuration', '/.well-known/oauth-protected-resource/mcp', '/llms.txt', '/oauth/jwks', '/oauth/auth', '/docs', '/docs/x', '/problems', '/problems/x', '/'].map((path) => ({
    operationId: `page ${path}`,
    method: 'GET',
    path,
    parameters: [],
  })),
];

function tokenForm(): Schema {
  const text: Schema = { type: 'string' };
  const grants = ['client_credentials', 'authorization_code', 'refresh_token', 'password'];
  return { type: 'object', properties: { grant_type: { enum: grants }, scope: text, client_id: text, client_secret: text, code: text }, required: ['grant_type'] };
}

/** Without it, no message reaches a tool. */
function agentAccept(): Parameter {
  return { name: 'Accept', in: 'header', schema: { enum: ['application/json, text/event-stream'] }, required: true };
}

function agentMessage(methods: readonly string[], params: Schema): Schema {
  return { type: 'object', properties: { jsonrpc: { enum: ['2.0'] }, id: { type: 'integer', minimum: 1 }, method: { enum: methods }, params }, required: ['jsonrpc', 'id', 'method', 'params'] };
}

/** Returns targets for the tools of agents, which the document does not have. */
export const toolTargets = (tools: readonly { readonly name: string; readonly inputSchema: Schema }[]): Target[] =>
  tools.map(({ name, inputSchema }) => ({
    operationId: `tool ${name}`,
    tags: ['tools'],
    method: 'POST',
    path: '/mcp',
    parameters: [agentAccept()],
    body: {
      type: 'application/json',
      schema: agentMessage(['tools/call'], { type: 'object', properties: { name: { enum: [name] }, arguments: inputSchema }, required: ['name', 'arguments'] }),
    },
  }));

const verbs = ['get', 'put', 'post', 'delete', 'patch'];

export function targetsOf(document: ApiDocument): Target[] {
  const base = pathOf(document.servers);
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    verbs.filter((verb) => verb in item).map((verb) => targetOf(document, { method: verb.toUpperCase(), path, base, item })),
  );
  return [...documented, ...pages];
}

function targetOf({ components }: ApiDocument, at: { method: string; path: string; base: string; item: Readonly<Record<string, unknown>> }): Target {
  const operation = at.item[at.method.toLowerCase()] as {
    operationId: string;
    tags: string[];
    parameters?: Parameter[];
    requestBody?: { content: Record<string, { schema: Schema }> };
  };
  const all = [...((at.item['parameters'] as Parameter[] | undefined) ?? []), ...(operation.parameters ?? [])];
  const parameters = all.map((one) => (one.$ref === undefined ? one : components.parameters[one.$ref.split('/').at(-1) ?? '']!));
  const servers = at.item['servers'] as ApiDocument['servers'] | undefined;
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  return {
    operationId: operation.operationId,
    tags: operation.tags,
    method: at.method,
    path: (servers ? pathOf(servers) : at.base) + at.path,
    parameters,
    ...(type !== undefined && media && { body: { type, schema: media.schema } }),
  };
}

/** Returns the parameters of a value: one for each member of an object. */
const queryOf = (name: string, value: unknown): [string, string][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).map(([key, one]) => [`${name}[${key}]`, String(one)])
    : [[name, [value].flat().join()]];

const pathOf = (servers: ApiDocument['servers']): string => new URL(servers[0]?.url ?? '').pathname.replace(/\/$/, '');

/** A request under construction; valid before it is mutated. */
interface Draft {
  readonly target: Target;
  method: string;
  path: string;
  query: [string, string][];
  /** Raw text appended to `query`. */
  queryText: string | undefined;
  headers: (readonly [string, string])[];
  credential: string;
  value: unknown;
  bytes: Buffer | undefined;
  type: string | undefined;
  alone: boolean;
}

/** A part of a multipart body. */
interface Part {
  readonly head: string;
  readonly content: Buffer;
}

/**
 * Generates requests; the same seed, document and fixtures give the same request. Most are a valid request with a few
 * mutations, since one that is wrong in every respect fails at the first validation.
 */
export class Requests {
  constructor(
    private readonly document: ApiDocument,
    private readonly credentials: Credentials,
  ) {}

  make(seed: number, target: Target, known: Known): Generated {
    const values = new Values(fc.sample(fc.gen(), { seed, numRuns: 1 })[0]!, this.document.components.schemas, known);
    const draft = this.valid(values, target);
    const changes: string[] = [];
    for (let left = values.pick([0, 1, 1, 1, 2, 2, 3]); left > 0; left--) {
      const [name, change] = values.pick(this.changesFor(draft));
      change(values, draft);
      changes.push(name);
    }
    return { operationId: target.operationId, changes, request: this.build(values, draft) };
  }

  private valid(values: Values, target: Target): Draft {
    const { method, parameters, body } = target;
    const draft: Draft = {
      target,
      method,
      path: target.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(String(values.valid(parameters.find((one) => one.name === name)?.schema ?? {}, name)).toWellFormed()),
      ),
      query: parameters
        .filter((one) => one.in === 'query' && (one.required || values.once(3)))
        .flatMap((one) => queryOf(one.name, values.valid(one.schema, one.name))),
      queryText: undefined,
      headers: parameters.filter((one) => one.in === 'header' && (one.required || values.once(6))).map((one) => [one.name, latin1(values.valid(one.schema, one.name))]),
      credential: 'adminKey',
      value: undefined,
      bytes: undefined,
      type: body?.type,
      alone: false,
    };
    if (body) draft.value = values.valid(body.schema);
    return draft;
  }

  private changesFor({ target, value }: Draft): (readonly [string, Change])[] {
    const { body } = target;
    const isMembers = typeof value === 'object' && value !== null;
    return [
      ...(isMembers ? valueChanges : []),
      ...(body ? bodyChanges : []),
      ...(body?.type === 'multipart/form-data' ? multipartChanges : []),
      ...(target.path.includes('{') ? parameterChanges : []),
      ...(target.parameters.some((one) => one.in === 'query') ? queryChanges : []),
      ...(body ? [] : generalChanges),
      ...generalChanges,
      ['other credential', (values, draft) => (draft.credential = values.pick(Object.keys(this.credentials)))],
    ];
  }

  private build(values: Values, draft: Draft): RawRequest {
    const { target } = draft;
    const headers = [...(this.credentials[draft.credential] ?? []), ...draft.headers];
    let { bytes, type } = draft;
    if (target.body && bytes === undefined) {
      if (target.body.type === 'multipart/form-data') bytes = multipart(values, draft.value);
      else if (target.body.type === 'application/x-www-form-urlencoded') bytes = Buffer.from(formOf(draft.value));
      else bytes = jsonOf(draft.value);
    }
    if (type === 'multipart/form-data') type = `${type}; boundary=${boundary}`;
    if (type !== undefined && (bytes || values.once(4))) headers.push(['Content-Type', type]);
    if (bytes && !draft.alone && values.once(6)) {
      headers.push(['Transfer-Encoding', 'chunked']);
      bytes = chunked(bytes, values.pick([1, 7, 1_000, 70_000]));
    }
    const query = draft.query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
    const text = [query, draft.queryText].filter((one) => one !== undefined && one !== '').join('&');
    const requestTarget = text === '' ? draft.path : `${draft.path}?${text}`;
    return { method: draft.method, target: requestTarget, headers, ...(bytes && { body: bytes }), ...(draft.alone && { alone: true }) };
  }
}

type Change = (values: Values, draft: Draft) => void;

const valueChanges: readonly (readonly [string, Change])[] = [
  ['wrong value', (values, draft) => setMember(values, draft, () => values.wrong())],
  ['hostile text', (values, draft) => setMember(values, draft, () => values.hostile())],
  ['boundary', (values, draft) => setMember(values, draft, (schema) => values.boundary(schema))],
  ['boundary', (values, draft) => setMember(values, draft, (schema) => values.boundary(schema))],
  ['missing member', (values, draft) => setMember(values, draft, () => undefined)],
  ['extra member', (values, draft) => {
    const [name, value] = values.pick(extraMembers);
    if (isRecord(draft.value)) draft.value = { ...draft.value, [name]: value };
  }],
];

const bodyChanges: readonly (readonly [string, Change])[] = [
  ['another body', (values, draft) => (draft.value = values.wrong())],
  ['broken body', (values, draft) => (draft.bytes = Buffer.from(values.pick(brokenJson)))],
  ['cut body', (values, draft) => {
    const whole = jsonOf(draft.value);
    draft.bytes = whole.subarray(0, Math.floor(whole.length * values.pick([0, 0.1, 0.5, 0.9, 0.99])));
  }],
  ['flipped byte', (values, draft) => {
    const whole = jsonOf(draft.value);
    if (whole.length > 0) whole[values.pick([0, 1, whole.length >> 1, whole.length - 1])] = values.pick([0, 0x22, 0x5c, 0x7f, 0x80, 0xc3, 0xff]);
    draft.bytes = whole;
  }],
  ['other type', (values, draft) => (draft.type = values.pick(contentTypes))],
  ['no type', (_, draft) => (draft.type = undefined)],
];

const multipartChanges: readonly (readonly [string, Change])[] = [
  ['broken multipart', (values, draft) => (draft.bytes = brokenMultipart(values))],
  ['broken multipart', (values, draft) => (draft.bytes = brokenMultipart(values))],
  ['long metadata', (values, draft) => (draft.value = { additionalMetadata: 'x'.repeat(values.pick([1_000, 1_001, 8_192, 9_000])), file: 'x' })],
  ['hostile metadata', (values, draft) => (draft.value = { additionalMetadata: values.hostile(), file: values.hostile() })],
];

const parameterChanges: readonly (readonly [string, Change])[] = [
  ['hostile parameter', (values, draft) => {
    const { path } = draft.target;
    const text = values.hostile();
    draft.path = path.replaceAll(/\{\w+\}/g, () => (values.once(3) ? latin1(text).replaceAll(/[\r\n]/g, '') : encode(text)));
  }],
  ['boundary parameter', (values, draft) => {
    draft.path = draft.target.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(String(values.boundary(draft.target.parameters.find((one) => one.name === name)?.schema ?? {}))));
  }],
];

const queryChanges: readonly (readonly [string, Change])[] = [
  ['hostile query', (values, draft) => (draft.queryText = latin1(values.pick(queryTexts)))],
  ['hostile query value', (values, draft) => {
    const named = draft.target.parameters.filter((one) => one.in === 'query');
    draft.query.push([values.pick(named).name, values.hostile()]);
  }],
  ['missing query', (_, draft) => (draft.query = [])],
];

const generalChanges: readonly (readonly [string, Change])[] = [
  ['hostile header', (values, draft) => draft.headers.push(values.pick(hostileHeaders))],
  ['random header', (values, draft) => draft.headers.push([values.pick(['If-Match', 'Idempotency-Key', 'X-Request-Id', 'X-A', 'Accept']), latin1(values.text()).replaceAll(/[^\x20-\x7e\x80-\xff]/g, '')])],
  ['hostile path', (values, draft) => (draft.path = values.pick(pathChanges(draft.path)))],
  ['hostile query', (values, draft) => (draft.queryText = latin1(values.pick(queryTexts)))],
  ['other method', (values, draft) => (draft.method = values.pick(otherMethods))],
  ['broken framing', (values, draft) => {
    draft.headers.push(...values.pick(brokenFraming));
    draft.alone = true;
  }],
];

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Replaces one member, at the top or one level below it. */
function setMember(values: Values, draft: Draft, make: (schema: Schema) => unknown): void {
  const schema = values.resolved(draft.target.body?.schema ?? {});
  draft.value = replaced(values, draft.value, schema, make);
}

function replaced(values: Values, value: unknown, schema: Schema, make: (schema: Schema) => unknown): unknown {
  if (Array.isArray(value) && value.length > 0) {
    const at = values.pick([...value.keys()]);
    return value.map((one: unknown, index) => (index === at ? replaced(values, one, values.resolved(schema.items ?? {}), make) : one));
  }
  if (!isRecord(value)) return make(schema);
  const names = Object.keys(schema.properties ?? {});
  const name = values.pick(names.length > 0 ? names : ['x']);
  const inner = values.resolved(schema.properties?.[name] ?? {});
  const isDeep = typeof value[name] === 'object' && value[name] !== null && values.once(2);
  return { ...value, [name]: isDeep ? replaced(values, value[name], inner, make) : make(inner) };
}

const boundary = 'plant-shop-boundary';
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(300, 7)]);

const bytesOfParts = (parts: readonly Part[], end = `--${boundary}--\r\n`): Buffer =>
  Buffer.concat([...parts.flatMap(({ head, content }) => [Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), content, Buffer.from('\r\n')]), Buffer.from(end)]);

const filePart = (name = 'a.png', content = png): Part => ({ head: `Content-Disposition: form-data; name="file"; filename="${name}"`, content });
const fieldPart = (name: string, content: string): Part => ({ head: `Content-Disposition: form-data; name="${name}"`, content: Buffer.from(content) });

function multipart(values: Values, value: unknown): Buffer {
  const metadata = isRecord(value) ? value['additionalMetadata'] : undefined;
  const parts = [filePart(), ...(metadata === undefined ? [] : [fieldPart('additionalMetadata', textOf(metadata))])];
  return bytesOfParts(values.once(2) ? parts : parts.reverse());
}

function brokenMultipart(values: Values): Buffer {
  const good = bytesOfParts([filePart()]);
  return values.pick([
    () => good.subarray(0, good.length - values.pick([1, 4, 10, 30, 200])),
    () => bytesOfParts([filePart()], ''),
    () => bytesOfParts([]),
    () => Buffer.from(''),
    () => bytesOfParts([filePart(), filePart('b.png')]),
    () => bytesOfParts([fieldPart('file', 'text')]),
    () => bytesOfParts(Array.from({ length: 30 }, (_, n) => fieldPart(`f${n}`, 'x'))),
    () => bytesOfParts([fieldPart('additionalMetadata', 'a'), fieldPart('additionalMetadata', 'b'), filePart()]),
    () => bytesOfParts([{ head: 'Content-Disposition: form-data', content: png }]),
    () => bytesOfParts([{ head: 'Content-Disposition: form-data; name="file"; filename="a"; filename*=UTF-8\'\'%ff', content: png }]),
    () => bytesOfParts([{ head: `Content-Disposition: form-data; name="file"; filename="${'x'.repeat(20_000)}"`, content: png }]),
    () => bytesOfParts([{ head: `${'A: b\r\n'.repeat(100)}Content-Disposition: form-data; name="file"; filename="a"`, content: png }]),
    () => bytesOfParts([{ head: 'X', content: png }]),
    () => bytesOfParts([{ head: '', content: png }]),
    () => bytesOfParts([filePart('__proto__'), fieldPart('__proto__', 'x'), fieldPart('constructor', 'x'), fieldPart('', 'x')]),
    () => bytesOfParts([filePart(values.hostile().replaceAll(/["\r\n]/g, ''))]),
    () => bytesOfParts([filePart('a.png', Buffer.alloc(0))]),
    () => bytesOfParts([filePart('a.svg', Buffer.from('<svg onload=alert(1)>'))]),
    () => Buffer.concat([Buffer.from('x'.repeat(500)), good]),
    () => Buffer.from(`--${boundary}\r\n`.repeat(200)),
    () => Buffer.from(good.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    () => bytesOfParts([filePart('a.bin', Buffer.alloc(300_000, 65))]),
  ])();
}

function formOf(value: unknown): string {
  if (!isRecord(value)) return textOf(value);
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${encode(name)}=${encode(textOf(one))}`)
    .join('&');
}

function chunked(bytes: Buffer, size: number): Buffer {
  const chunks: Buffer[] = [];
  const step = Math.max(size, Math.ceil(bytes.length / 500));
  for (let at = 0; at < bytes.length; at += step) {
    const piece = bytes.subarray(at, at + step);
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}

/** JSON of a value; empty for `undefined`. */
const jsonOf = (value: unknown): Buffer => Buffer.from(value === undefined ? '' : JSON.stringify(value));
const textOf = (value: unknown): string => (typeof value === 'string' ? value : jsonOf(value).toString());

/** Percent-encodes text; lone surrogates become invalid UTF-8. */
const encode = (text: string): string =>
  text.isWellFormed() ? encodeURIComponent(text) : Array.from(text, (one) => (one.isWellFormed() ? encodeURIComponent(one) : '%ED%A0%80')).join('');

/** The UTF-8 bytes of a text as Latin-1, for headers and request lines. */
const latin1 = (value: unknown): string => Buffer.from(String(value), 'utf8').toString('latin1');
