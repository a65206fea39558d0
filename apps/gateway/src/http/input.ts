import { isUtf8 } from 'node:buffer';
import { badField, badFields, badParameter, checkEncoding, HttpError } from '@plant-shop/contracts/problem';
import { keyIn, readId, UrlEncoded } from '@plant-shop/platform/http/url-encoded';
import type { FastifyRequest } from 'fastify';
import { maxNameLength, suggestion, undeclared } from './members.js';

// Readers of path, query and form for handlers. Each throws the HttpError that the client receives.

const textOf = (request: FastifyRequest, name: string): string => {
  const value = (request.params as Record<string, string | undefined>)[name];
  if (value === undefined) throw new Error(`the route has no parameter ${name}`);
  return value;
};

/** Returns a path parameter of any text. */
export function pathText(request: FastifyRequest, name: string): string {
  const value = textOf(request, name);
  if (value.includes('\0')) throw badParameter(name, 'must not contain NUL characters');
  return value;
}

/** Returns a path parameter that is an id. */
export const pathId = (request: FastifyRequest, name: string): number => readId(name, textOf(request, name), badParameter);

const queryOf = (request: FastifyRequest): UrlEncoded => request.query as UrlEncoded;

export const queryText = (request: FastifyRequest, name: string): string | undefined =>
  queryOf(request).one(name, badParameter);

/** Returns a required query parameter. @param must completes "<name> must …" in the error if it is missing */
export function requiredQueryText(request: FastifyRequest, name: string, must: string): string {
  const value = queryText(request, name);
  if (value === undefined) throw badParameter(name, must);
  return value;
}

export const queryInteger = (request: FastifyRequest, name: string, bounds: { readonly min: number; readonly max: number }): number | undefined =>
  queryOf(request).integer(name, bounds, badParameter);

/** Returns a query parameter that is an id, with the same rules as in the path. */
export const queryId = (request: FastifyRequest, name: string): number | undefined => queryOf(request).id(name, badParameter);

export const queryFlag = (request: FastifyRequest, name: string): boolean | undefined => queryOf(request).flag(name, badParameter);

/** Returns the parameters `<name>[<key>]` by key. */
export const queryPairs = (request: FastifyRequest, name: string): Readonly<Record<string, string>> | undefined => queryOf(request).pairs(name, badParameter);

/** Returns a list. @param kind `ofTexts`: its values may contain commas */
export const queryList = (request: FastifyRequest, name: string, kind: { ofTexts?: boolean }): readonly string[] | undefined => queryOf(request).list(name, kind);

export function requiredQueryList(request: FastifyRequest, name: string, kind: { ofTexts?: boolean }, must: string): readonly string[] {
  const values = queryList(request, name, kind);
  if (values === undefined || values.every((one) => one === '')) throw badParameter(name, must);
  return values;
}

/** Returns a required list of ids, with the same rules as in the path. @param must completes "<name> must …" in the error if it is missing */
export const requiredQueryIds = (request: FastifyRequest, name: string, must: string): readonly number[] =>
  requiredQueryList(request, name, { ofTexts: false }, must).map((one) => readId(name, one, badParameter));

/** Returns `limit` and `cursor` of a list; the owning service checks the cursor. */
export function pageOf(request: FastifyRequest): { limit?: number; cursor?: string } {
  const limit = queryInteger(request, 'limit', { min: 1, max: 1_000 });
  const cursor = queryText(request, 'cursor');
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
}

export function checkQuery(request: FastifyRequest): void {
  const query = queryOf(request);
  checkEncoding('query', query);
  const { parameters, pairs = [] } = request.routeSpec ?? {};
  if (!parameters) return;
  for (const name of query.names) {
    if (pairs.includes(name)) throw badParameter(name, `needs a key: ${name}[key]=value`);
    if (parameters.includes(name) || pairs.some((one) => keyIn(one, name) !== undefined)) continue;
    // Others add them: trackers, and clients that circumvent caches.
    if (/^(_|utm_)/.test(name)) continue;
    const shown = name.slice(0, maxNameLength);
    throw badParameter(shown, `is not a parameter${suggestion(shown, parameters)}`);
  }
}

/** Returns the fields of a URL-encoded form. @param fields that there are */
export function formBody(request: FastifyRequest, fields: readonly string[]): Record<string, string> {
  const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  if (!isUtf8(bytes)) throw new HttpError('malformed-request', 'The form must be UTF-8.');
  const parsed = UrlEncoded.parse(bytes.toString('utf8'));
  checkEncoding('form', parsed);
  for (const name of parsed.names) {
    if (!fields.includes(name)) throw badFields([undeclared('', name, fields)]);
  }
  const given: Record<string, string> = {};
  for (const field of fields) {
    const value = parsed.one(field, (name, must) => badField(`/${name}`, must));
    if (value !== undefined) given[field] = value;
  }
  return given;
}
