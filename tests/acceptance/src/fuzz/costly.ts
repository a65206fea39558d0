import fc from 'fast-check';
import type { RawRequest } from '../raw-http.js';
import type { Credentials, Target } from './requests.js';
import { type Schema, Values } from './values.js';

// Requests that are as large as the shop admits, or just larger, and shaped so that careless code takes long for them.

export interface Costly {
  readonly operationId: string;
  /** What is in it, for a report. */
  readonly what: string;
  readonly credential: string;
  /** Returns the request; each number gives another one, since the first might be remembered. */
  readonly make: (n: number) => RawRequest;
}

/** JSON bodies of the largest size, less what surrounds the part that is large: of lists, and of objects. */
const listBytes = 896 * 1024 - 2_000;
const objectBytes = 384 * 1024 - 2_000;
const largest = (isList: boolean): number => (isList ? listBytes : objectBytes);
/** What Node admits of request line and headers is 16 KiB. */
const headBytes = 14_000;
const formBytes = 64 * 1024 - 1_000;
const importBytes = 500 * 1024;

/** Repeats a text to a length in bytes. */
const filled = (unit: string, bytes: number): string => unit.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(unit))));
/** Different short texts, joined, of a length in bytes. */
const different = (one: (n: number) => string, bytes: number, separator = ''): string => {
  const parts: string[] = [];
  for (let length = 0, n = 0; length < bytes; n++) length += parts.push(one(n)) > 0 ? Buffer.byteLength(parts.at(-1) ?? '') + separator.length : 0;
  return parts.slice(0, -1).join(separator);
};

/** Texts that become larger, or are compared slowly, when they are normalised, matched or split. */
const units: readonly (readonly [name: string, unit: string, end: string])[] = [
  ['letters', 'a', ''],
  ['letters, then a wrong one', 'a', '!\n'],
  ['digits', '1', 'x'],
  ['spaces', ' ', 'x'],
  ['tabs and line breaks', '\t\n', 'x'],
  ['words', 'ab ', ''],
  ['commas', ',', 'x'],
  ['dots', 'a.', '!'],
  ['punctuation', '-_@/:', ' '],
  ['quotes', '"', 'x'],
  ['backslashes', '\\', 'x'],
  ['brackets', '([{', ''],
  ['wildcards', '%_*', '\\'],
  ['percent signs', '%25', '%'],
  ['ligatures', '\ufdfa', ''],
  ['combining marks', '\u0301\u0323', ''],
  ['letters with marks', '\u1e9b\u0323', ''],
  ['Hangul', '\uac01', ''],
  ['emoji', '👩‍👩‍👧‍👦', ''],
  ['capital dotted I', 'İ', ''],
];

/**
 * Texts that nearly match a pattern: one that matches, a long run of what one of its classes allows, and a character that it does not
 * allow, for each class that may repeat.
 */
function nearMisses(pattern: string, bytes: number): (() => string)[] {
  const head = fc.sample(fc.stringMatching(new RegExp(pattern)), { seed: 1, numRuns: 1 })[0] ?? '';
  const ascii = Array.from({ length: 127 }, (_, code) => String.fromCodePoint(code));
  const classes = new Set(Array.from(pattern.matchAll(/(\[(?:\\.|[^\]\\])*\]|\\[dwsDWS]|\.)[+*{]/g), (match) => match[1] ?? ''));
  return [...classes].flatMap((one) => {
    const is = new RegExp(`^${one}$`);
    const allowed = ascii.filter((char) => is.test(char)).filter((char) => /[\w "/-]/.test(char));
    const wrong = ascii.findLast((char) => !is.test(char)) ?? '\n';
    // One of a kind: letter, digit, sign.
    const runs = [allowed.find((char) => /[a-z]/i.test(char)), allowed.find((char) => /\d/.test(char)), allowed.find((char) => /\W/.test(char))];
    return runs.flatMap((char) => (char === undefined ? [] : [() => head + filled(char, bytes) + wrong, () => filled(char + head, bytes) + wrong]));
  });
}

/** Values for one text of at most so many bytes, as its schema allows and beyond. */
function texts({ pattern, maxLength }: Schema, bytes: number): (readonly [what: string, text: () => string])[] {
  const lengths = maxLength === undefined || maxLength * 4 >= bytes ? [bytes] : [bytes, maxLength];
  return lengths.flatMap((length) => [
    ...units.map(([name, unit, end]) => [`${length} bytes of ${name}`, () => filled(unit, length - end.length) + end] as const),
    ...(pattern === undefined ? [] : nearMisses(pattern, length - 70).map((text, n) => [`${length} bytes, near miss ${n + 1} of ${pattern}`, text] as const)),
  ]);
}

/** Header fields, which the gateway reads for every operation. */
const headers: readonly (readonly [what: string, name: string, value: () => string])[] = [
  ['cookies', 'Cookie', () => different((n) => `c${n}=${n}`, headBytes, '; ')],
  ['cookies without names', 'Cookie', () => filled('=;', headBytes)],
  ['types', 'Accept', () => different((n) => `a/b${n};q=0.${n % 10}`, headBytes, ', ')],
  ['types without an end', 'Accept', () => filled('a/b;"\\', headBytes)],
  ['encodings', 'Accept-Encoding', () => filled('gzip;q=0.1,', headBytes)],
  ['languages', 'Accept-Language', () => different((n) => `a${n};q=0.1`, headBytes, ',')],
  ['ETags', 'If-None-Match', () => different((n) => `"${n}"`, headBytes, ', ')],
  ['ETags that do not end', 'If-None-Match', () => `${filled('W/"a', headBytes)} `],
  ['spaces instead of an ETag', 'If-None-Match', () => `"a"${filled(' ', headBytes)}x`],
  ['ETags', 'If-Match', () => different((n) => `"${n}"`, headBytes, ', ')],
  ['quotes', 'If-Match', () => `${filled('"', headBytes)}x`],
  ['ranges', 'Range', () => `bytes=${filled('0-0,', headBytes)}1-1`],
  ['digits of a range', 'Range', () => `bytes=${filled('1', headBytes)}-x`],
  ['key', 'Idempotency-Key', () => `${filled('k', headBytes)} `],
  ['id', 'X-Request-Id', () => `${filled('a', headBytes)} `],
  ['states', 'tracestate', () => different((n) => `a${n}=b`, headBytes, ',')],
  ['dashes', 'traceparent', () => filled('00-', headBytes)],
  ['baggage', 'baggage', () => different((n) => `a${n}=%41;b`, headBytes, ',')],
  ['addresses', 'X-Forwarded-For', () => filled('127.0.0.1, ', headBytes)],
  ['parts of a token', 'Authorization', () => `Bearer ${filled('e30.', headBytes)}`],
  ['spaces before a token', 'Authorization', () => `Bearer${filled(' ', headBytes)}x`],
  ['a token', 'Authorization', () => `Bearer ${filled('eyJ', headBytes)}.e30.x`],
  ['a name and password', 'Authorization', () => `Basic ${Buffer.from(filled(':', headBytes / 2)).toString('base64')}`],
  ['keys', 'api_key', () => filled('special-key ', headBytes)],
  ['parameters of the type', 'Content-Type', () => `application/json${filled(';a="\\"', headBytes)}`],
  ['spaces in the type', 'Content-Type', () => `application/json${filled(' ', headBytes)};`],
  ['dates', 'If-Range', () => filled('Mon, ', headBytes)],
  ['origins', 'Origin', () => `http://${filled('a.', headBytes)}`],
  ['hosts', 'Host', () => filled('a.', headBytes)],
  ['expectations', 'Expect', () => filled('100-continue,', headBytes)],
];

const text: Schema = { type: 'string' };
const asked = (names: readonly string[]): Target['parameters'] => names.map((name) => ({ name, in: 'query', schema: text }));
const form = (operationId: string, path: string, names: readonly string[]): Target => {
  const schema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, text])) };
  return { operationId, method: 'POST', path, parameters: [], body: { type: 'application/x-www-form-urlencoded', schema } };
};
const authorization = ['client_id', 'redirect_uri', 'scope', 'state', 'code_challenge', 'nonce', 'prompt', 'claims', 'request', 'request_uri', 'ui_locales', 'login_hint', 'acr_values', 'id_token_hint', 'resource'];

/** Beside those of the OpenAPI document: OAuth's, which identity serves, and the stream of notifications. */
export const otherTargets: readonly Target[] = [
  { operationId: 'oauthAuthorize', method: 'GET', path: '/oauth/authorize', parameters: asked(authorization) },
  { operationId: 'oauthLogout', method: 'GET', path: '/oauth/session/end', parameters: asked(['id_token_hint', 'post_logout_redirect_uri', 'state', 'ui_locales']) },
  form('oauthIntrospect', '/oauth/introspect', ['token', 'token_type_hint', 'client_id', 'client_secret', 'client_assertion']),
  form('oauthRevoke', '/oauth/revoke', ['token', 'client_id', 'client_secret']),
  { operationId: 'stream', method: 'GET', path: '/v1/orders/updates', parameters: asked(['cursor', 'types', 'orderId', 'plantId', 'newStatus', 'limit', 'api_key']) },
];

/** Lists the costly requests of an operation. */
export function costlyRequests(target: Target, values: Values, credentials: Credentials): Costly[] {
  const { method, operationId } = target;
  const resolved = (schema: Schema): Schema => values.resolved(schema);
  const costly: Costly[] = [];
  const parameters = new Map(target.parameters.filter((one) => one.in === 'path').map((one) => [one.name, encode(String(values.valid(one.schema, one.name)))]));
  const query = target.parameters.filter((one) => one.in === 'query');
  const path = (replaced?: string, text = ''): string => target.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === replaced ? text : (parameters.get(name) ?? 'x')));
  const given = query.filter((one) => one.required).map((one) => [one.name, encode([values.valid(one.schema, one.name)].flat().join())] as const);
  const search = (other: string, without?: string): string => [...given.filter(([name]) => name !== without).map(([name, value]) => `${name}=${value}`), other].filter(Boolean).join('&');
  const credential = operationId.startsWith('page ') || operationId.startsWith('oauth') ? 'nothing' : 'adminKey';
  const own = credentials[credential] ?? [];
  const type = target.body?.type;
  const required = target.parameters.flatMap((one) => (one.in === 'header' && one.required ? [[one.name, String(values.valid(one.schema))] as const] : []));
  const valid = type === undefined ? undefined : bodyOf(type, values.valid(target.body?.schema ?? {}));
  const add = (what: string, make: Costly['make'], as = credential): unknown => costly.push({ operationId, what, credential: as, make });
  const request = (parts: { target?: string; headers?: RawRequest['headers']; body?: Buffer; type?: string }): RawRequest => {
    const body = parts.body ?? valid;
    const replaced = new Set((parts.headers ?? []).map(([name]) => name.toLowerCase()));
    const usual = [...own, ...required, ...(body && type !== undefined ? [['Content-Type', parts.type ?? typeWith(type)] as const] : [])];
    return {
      method,
      target: parts.target ?? withQuery(path(), search('')),
      headers: [...usual.filter(([name]) => !replaced.has(name.toLowerCase())), ...(parts.headers ?? [])],
      ...(body && { body }),
    };
  };

  add('an ordinary request', () => request({}));
  for (const [what, name, value] of headers) add(`${what} in ${name}`, () => request({ headers: [[name, value()]] }));
  add('900 header fields', () => request({ headers: Array.from({ length: 900 }, (_, n) => [`a${n}`, 'b'] as const) }));

  for (const [name] of parameters) {
    const schema = target.parameters.find((one) => one.in === 'path' && one.name === name)?.schema ?? {};
    for (const [what, text] of texts(schema, 2_000)) add(`${name} in the path: ${what}`, () => request({ target: withQuery(path(name, encode(text())), search('')) }));
  }
  add('many slashes', () => request({ target: path() + filled('/a', 2_000) }));

  add('undeclared parameters', () => request({ target: withQuery(path(), search(different((n) => `_${n}`, headBytes, '&'))) }));
  add('an undeclared parameter with a long name', () => request({ target: withQuery(path(), search(filled('limi', headBytes))) }));
  add('empty parameters', () => request({ target: withQuery(path(), search(filled('&', headBytes))) }));
  add('broken escapes', () => request({ target: withQuery(path(), search(`_=${filled('%41%', headBytes)}`)) }));
  for (const { name: declared, schema } of query) {
    const name = schema.type === 'object' ? `${declared}[a]` : declared;
    const at = (text: string): string => withQuery(path(), search(`${name}=${text}`, name));
    add(`${name} repeated`, () => request({ target: withQuery(path(), search(different((n) => `${name}=${n}`, headBytes, '&'), name)) }));
    add(`a list in ${name}`, (n) => request({ target: at(different((one) => `${n}a${one}`, headBytes, ',')) }));
    if (schema.maximum !== undefined) add(`the largest ${name}`, () => request({ target: at(String(schema.maximum)) }));
    add(`short words in ${name}`, (n) => request({ target: at(different((one) => `${n}${one.toString(36)}`, headBytes, '+')) }));
    add(`JSON in base64url in ${name}`, (n) => request({ target: at(Buffer.from(`${filled('[', headBytes / 3)}${n}`).toString('base64url')) }));
    for (const length of [headBytes, 200]) {
      for (const [what, text] of texts({ ...schema }, Math.floor(length / 3))) add(`${name}: ${what}`, (n) => request({ target: at(encode(text() + String(n))) }));
    }
  }

  if ((type === 'application/json' || type === 'application/merge-patch+json') && target.body) {
    const schema = resolved(target.body.schema);
    const json = (text: string): RawRequest => request({ body: Buffer.from(text) });
    for (const [what, text] of jsonTexts(schema.type === 'array')) add(what, () => json(text()));
    for (const place of placesOf(schema, values)) {
      for (const [what, text] of place.costly) add(`${place.pointer}: ${what}`, () => json(place.around(text())));
    }
  }
  if (type === 'application/x-www-form-urlencoded') {
    const fields = Object.keys(resolved(target.body?.schema ?? {}).properties ?? {});
    const sent = (fields: string): RawRequest => request({ body: Buffer.from(fields) });
    add('undeclared fields', () => sent(different((n) => `a${n}`, formBytes, '&')));
    add('empty fields', () => sent(filled('&', formBytes)));
    add('a field with a long name', () => sent(filled('a', formBytes)));
    for (const field of fields) {
      add(`${field} repeated`, () => sent(different((n) => `${field}=${n}`, formBytes, '&')));
      for (const [what, text] of texts({}, formBytes)) add(`${field}: ${what}`, () => sent(`${field}=${cut(encode(text()), formBytes)}`));
    }
  }
  if (type === 'multipart/form-data') for (const [what, boundary, body] of multiparts) add(what, () => request({ body: body(), type: `multipart/form-data; boundary=${boundary}` }));
  if (type === 'application/x-ndjson') for (const [what, text] of lines) add(what, () => request({ body: Buffer.from(text()) }));
  return costly;
}

const withQuery = (path: string, query: string): string => (query === '' ? path : `${path}?${query}`);
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());
/** Cuts escaped text between two escapes. */
const cut = (text: string, length: number): string => text.slice(0, length).replace(/%.?$/, '');

const smallBoundary = 'b';
const typeWith = (type: string): string => (type === 'multipart/form-data' ? `${type}; boundary=${smallBoundary}` : type);

function bodyOf(type: string, value: unknown): Buffer {
  if (/[/+-](?:nd)?json$/.test(type)) return Buffer.from(JSON.stringify(value ?? {}));
  if (type === 'multipart/form-data') return partsOf(smallBoundary, [`${filePart}${'x'.repeat(100)}`]);
  return Buffer.from(new URLSearchParams(Object.entries(value ?? {}).map(([name, one]) => [name, String(one)])).toString());
}

/** JSON texts whose structure is costly, whatever the operation. */
function jsonTexts(isList: boolean): (readonly [what: string, text: () => string])[] {
  const bodyBytes = largest(isList);
  const in1 = (one: string): string => (isList ? `[${one}]` : one);
  const listOf = (entries: string): string => (isList ? `[${entries}]` : `{"a":[${entries}]}`);
  const members = (name: (n: number) => string, count: number): string => `{${Array.from({ length: count }, (_, n) => `"${name(n)}":0`).join()}}`;
  return [
    ['1,000 undeclared members', () => in1(members((n) => `m${n}`, 1_000))],
    ['100,000 undeclared members', () => in1(members((n) => n.toString(36), 100_000))],
    ['members named by numbers', () => in1(members((n) => String(n * 4_000_037), 60_000))],
    ['a member repeated', () => in1(members(() => 'name', 90_000))],
    ['members with escaped names', () => in1(members((n) => `\\u0061${n}`, 50_000))],
    ['long names of members', () => in1(members((n) => `${filled('a', 800)}${n}`, 1_000))],
    ['one long escaped name of a member', () => in1(`{"${filled('\\u0061', bodyBytes)}":0}`)],
    ['50 objects with 900 members', () => listOf(Array.from({ length: 50 }, () => members((n) => `m${n}`, 900)).join())],
    ['lists nested 440,000 deep', () => filled('[', bodyBytes / 2) + filled(']', bodyBytes / 2)],
    ['objects nested deeply', () => filled('{"a":', bodyBytes)],
    ['lists 16 deep, side by side', () => `{"a":[${Array.from({ length: 3_500 }, () => `${'['.repeat(13)}0${']'.repeat(13)}`).join()}]}`],
    ['50,000 numbers', () => listOf(`${filled('0,', 99_000)}0`)],
    ['440,000 numbers', () => listOf(`${filled('0,', bodyBytes)}0`)],
    ['290,000 objects', () => listOf(`${filled('{},', bodyBytes)}{}`)],
    ['40,000 objects', () => listOf(`${filled('{},', 120_000)}{}`)],
    ['a long number', () => in1(`{"a":${filled('1', bodyBytes)}}`)],
    ['a number with a long fraction', () => in1(`{"a":0.${filled('1', bodyBytes)}e-${filled('9', 300)}}`)],
    ['white space', () => in1(`{${filled(' \t\n', bodyBytes)}}`)],
    ['white space, then nothing', () => filled(' ', bodyBytes)],
    ['a text that does not end', () => `{"a":"${filled('\\u0061', bodyBytes)}`],
    ['an escaped text', () => in1(`{"a":"${filled('\\u00e9', bodyBytes)}"}`)],
    ['escaped surrogates', () => in1(`{"a":"${filled('\\ud83d\\ude00', bodyBytes)}"}`)],
    ['escaped texts', () => `{"a":[${filled('"\\u0061",', 49_000 * 9)}0]}`],
  ];
}

interface Place {
  readonly pointer: string;
  readonly costly: readonly (readonly [what: string, text: () => string])[];
  /** Returns the body with a JSON text at the place. */
  readonly around: (text: string) => string;
}

/** Lists the places of a body at which something costly can stand: texts, lists and objects that the operation declares. */
function placesOf(root: Schema, values: Values): Place[] {
  const places: Place[] = [];
  const bodyBytes = largest(root.type === 'array');
  const visit = (given: Schema, pointer: string, around: Place['around'], depth: number): void => {
    const schema = values.resolved(given);
    if (depth > 4) return;
    if (schema.type === 'string' && schema.enum === undefined) {
      const costly = texts(schema, bodyBytes).map(([what, text]) => [what, () => cutJson(text(), bodyBytes)] as const);
      places.push({ pointer, around, costly });
    } else if (schema.type === 'array') {
      const item = JSON.stringify(values.valid(schema.items ?? {}) ?? 0);
      const most = Math.min(schema.maxItems ?? 40_000, 40_000);
      const longest = JSON.stringify(longestOf(schema.items ?? {}, values, 3));
      const costly: Place['costly'] = [
        [`${most} entries`, () => `[${Array.from({ length: fitting(item, most, bodyBytes) }, () => item).join()}]`],
        [`${most} of the longest entries`, () => `[${Array.from({ length: fitting(longest, most, bodyBytes) }, () => longest).join()}]`],
        ['40,000 numbers', () => `[${filled('0,', 80_000)}0]`],
        ['40,000 texts', () => `[${different((n) => `"${n}"`, 300_000, ',')}]`],
        ['40,000 empty objects', () => `[${filled('{},', 120_000)}{}]`],
      ];
      places.push({ pointer, around, costly });
      visit(schema.items ?? {}, `${pointer}/0`, (text) => around(`[${text}]`), depth + 1);
    } else if (schema.type === 'object' || schema.properties) {
      const usual = (values.valid(schema) ?? {}) as Record<string, unknown>;
      const nearby = Object.keys(schema.properties ?? {})[0] ?? 'a';
      places.push({
        pointer: pointer === '' ? '/' : pointer,
        around,
        costly: [
          ['members that are nearly declared', () => `{${Array.from({ length: 900 }, (_, n) => `"${filled(nearby, 90)}${n}":0`).join()}}`],
          ['the longest values', () => JSON.stringify(longestOf(schema, values, 4))],
        ],
      });
      for (const [name, member] of Object.entries(schema.properties ?? {})) {
        const others = JSON.stringify({ ...usual, [name]: undefined }).slice(1);
        visit(member, `${pointer}/${name}`, (text) => around(`{${JSON.stringify(name)}:${text}${others === '}' ? '}' : `,${others}`}`), depth + 1);
      }
    }
  };
  visit(root, '', (text) => text, 0);
  return places;
}

/** JSON of a text, which escapes may have made too long. */
function cutJson(text: string, bodyBytes: number): string {
  const json = JSON.stringify(text);
  const bytes = Buffer.byteLength(json);
  return bytes <= bodyBytes ? json : JSON.stringify(text.slice(0, Math.floor((text.length * bodyBytes) / bytes)).toWellFormed());
}

const fitting = (item: string, most: number, bodyBytes: number): number => Math.max(1, Math.min(most, Math.floor(bodyBytes / (Buffer.byteLength(item) + 1))));

/** The longest value that a schema allows, of four-byte characters. */
function longestOf(given: Schema, values: Values, depth: number): unknown {
  const schema = values.resolved(given);
  if (schema.enum) return schema.enum.at(-1);
  if (schema.type === 'string' && schema.pattern === undefined && schema.format === undefined) return filled('😀', Math.min(schema.maxLength ?? 200, 20_000) * 2);
  if (schema.type === 'array') return depth === 0 ? [] : Array.from({ length: Math.min(schema.maxItems ?? 100, 1_000) }, () => longestOf(schema.items ?? {}, values, depth - 1));
  if (schema.properties) return Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, longestOf(one, values, depth - 1)]));
  return values.valid(schema);
}

const filePart = 'Content-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
const fieldPart = 'Content-Disposition: form-data; name="x"\r\n\r\n';
const partsOf = (boundary: string, parts: readonly string[]): Buffer => Buffer.from(`${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`, 'latin1');
const longBoundary = filled('-', 4_000);
const uploadBytes = 2_000_000;

const multiparts: readonly (readonly [what: string, boundary: string, body: () => Buffer])[] = [
  ['many parts', smallBoundary, () => partsOf(smallBoundary, Array.from({ length: 40_000 }, () => `${fieldPart}x`))],
  ['empty parts', smallBoundary, () => Buffer.from(filled(`--${smallBoundary}\r\n\r\n\r\n`, uploadBytes))],
  ['a long boundary', longBoundary, () => partsOf(longBoundary, [filePart + filled('-', uploadBytes)])],
  ['almost the boundary', filled('a', 70), () => partsOf(filled('a', 70), [filePart + filled(`\r\n--${'a'.repeat(69)}`, uploadBytes)])],
  ['line breaks', smallBoundary, () => partsOf(smallBoundary, [filePart + filled('\r\n', uploadBytes)])],
  ['dashes', smallBoundary, () => partsOf(smallBoundary, [filePart + filled('\r\n-', uploadBytes)])],
  ['many headers of a part', smallBoundary, () => partsOf(smallBoundary, [`${filled('a: b\r\n', uploadBytes)}${filePart}x`])],
  ['a long header of a part', smallBoundary, () => partsOf(smallBoundary, [`Content-Disposition: form-data; name="file"; filename="${filled('\\"', uploadBytes)}"\r\n\r\nx`])],
  ['a file name in percent-encoding', smallBoundary, () => partsOf(smallBoundary, [`Content-Disposition: form-data; name="file"; filename*=UTF-8''${filled('%41', 60_000)}\r\n\r\nx`])],
  ['a long field', smallBoundary, () => partsOf(smallBoundary, [`Content-Disposition: form-data; name="additionalMetadata"\r\n\r\n${filled('\xe9', uploadBytes)}`])],
  ['a file like a page', smallBoundary, () => partsOf(smallBoundary, [filePart + filled('<!--<svg ', uploadBytes)])],
  ['a file like a picture', smallBoundary, () => partsOf(smallBoundary, [`${filePart}\x89PNG\r\n\x1a\n${filled('\0', uploadBytes)}`])],
];

const lines: readonly (readonly [what: string, text: () => string])[] = [
  ['empty lines', () => filled('\n', 4 * importBytes)],
  ['lines that are no JSON', () => filled('x\n', 10_000)],
  ['empty objects', () => filled('{}\n', 10_000)],
  ['plants', () => different((n) => `{"name":"p${n}"}\n`, 10_000)],
  ['a line with many members', () => `{${Array.from({ length: 60_000 }, (_, n) => `"m${n}":0`).join()}}`],
  ['lines with many members', () => filled(`{${Array.from({ length: 900 }, (_, n) => `"m${n}":0`).join()}}\n`, importBytes)],
  ['a line of spaces', () => filled(' ', importBytes)],
  ['a line that does not end', () => `{"name":"${filled('a', importBytes)}`],
  ['a deep line', () => filled('[', importBytes)],
  ['lines with many photos', () => filled(`{"name":"x","photoUrls":[${filled('"http://a/",', 1_000)}"http://a/"]}\n`, importBytes)],
];
