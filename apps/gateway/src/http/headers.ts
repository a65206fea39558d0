import type { IncomingHttpHeaders } from 'node:http';
import { constants, crc32 } from 'node:zlib';
import type { BodySpec, Deprecation } from '@plant-shop/contracts/client-operation';
import { pagePolicy } from '@plant-shop/contracts/page';
import { badHeader, HttpError } from '@plant-shop/contracts/problem';
import { requestFaultOf } from '@plant-shop/contracts/request-checks';
import { corsHeaders, preflightHeaders } from '@plant-shop/platform/http/cors';
import { responseHeaders } from '@plant-shop/platform/http/security-headers';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

// Lists and documents are compressed. For single plants and orders, compressing costs more than it saves.

export const compressFromBytes = 1_024;

/** The library's default quality, 11, costs more time than the smaller response saves. */
export const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

// Entity tags are strong (RFC 9110, section 8.8.3): the owning service's version number, which never comes back, and a checksum of the
// body, since viewers see different bodies of one version, and a body shows what has its own, such as the owner's name.

export const etagOf = (version: number, body: Uint8Array): string => `"${version}-${crc32(body).toString(36)}"`;

/** A version that no resource has. */
const impossibleVersion = 0;

/**
 * Returns the version that `If-Match` requires, whoever saw it; undefined for any. `*` requires only that the resource exists, which a change
 * requires anyway.
 * @throws HttpError `invalid-input` unless the header is one entity tag: a change applies to one version
 */
export function expectedVersion(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  const tag = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/.exec(ifMatch);
  if (!tag) throw badHeader('If-Match', 'must be one entity tag, as in the ETag header');
  const version = Number(/^([1-9]\d{0,15})(-[\w-]+)?$/.exec(tag[2] ?? '')?.[1] ?? impossibleVersion);
  // If-Match compares strongly, so a weak tag never matches.
  return tag[1] === undefined && Number.isSafeInteger(version) ? version : impossibleVersion;
}

/** Whether the client already has this body (304). Compares weakly (RFC 9110, section 13.1.2). */
export function isNotModified(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}

/** `Deprecation` (RFC 9745: seconds since the epoch) and `Sunset` (RFC 8594: an HTTP date). */
export const deprecationHeaders = ({ since, sunset }: Deprecation): Readonly<Record<'deprecation' | 'sunset', string>> => ({
  deprecation: `@${since.getTime() / 1000}`,
  sunset: sunset.toUTCString(),
});

/** The notice in the OpenAPI document. */
export const deprecationText = ({ since, sunset }: Deprecation): string =>
  `Deprecated since ${dayText(since)}. Works unchanged until ${dayText(sunset)} and is removed after that.`;

const dayText = (day: Date): string => day.toISOString().slice(0, 10);

/** Returns what a request without a body says in a header. Headers are ASCII, so it is percent-encoded. @throws HttpError `invalid-input` */
export function encodedHeader(request: FastifyRequest, name: string): string | undefined {
  const header = request.headers[name.toLowerCase()];
  if (header === undefined) return undefined;
  try {
    return decodeURIComponent(String(header));
  } catch {
    throw badHeader(name, 'must be percent-encoded UTF-8');
  }
}

const maxKeyLength = 255;

/**
 * Returns the Idempotency-Key of an authenticated POST; others have none, since a key belongs to a principal.
 * @throws HttpError `invalid-input` unless the key is 1 to 255 visible ASCII characters
 */
export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST' || !request.authentication) return undefined;
  if (typeof key !== 'string' || key.length > maxKeyLength || !/^[\x21-\x7e]+$/.test(key)) {
    throw badHeader('Idempotency-Key', `must be 1 to ${maxKeyLength} visible ASCII characters`);
  }
  return key;
}

export const mergePatchType = 'application/merge-patch+json';

const mediaTypes: Readonly<Record<BodySpec['kind'], string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  oauthForm: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  lines: 'application/x-ndjson',
};

/** Returns the Content-Type of a route's bodies. */
export const mediaTypeOf = (body: BodySpec): string => (body.kind === 'json' && body.isMergePatch ? mergePatchType : mediaTypes[body.kind]);

/**
 * Checks Content-Type and Content-Encoding. Bodies are bounded by what arrives, so compressed ones are refused: a small one could become
 * a large one.
 * @throws HttpError `unsupported-media-type` unless it is the type that the route accepts, in UTF-8 if it names a charset, and not encoded
 */
export function checkMediaType(headers: IncomingHttpHeaders, type: string): void {
  const { 'content-type': header, 'content-encoding': coding } = headers;
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new HttpError('unsupported-media-type', 'Send the body without a Content-Encoding.', {}, { 'accept-encoding': 'identity' });
  }
  if (header === type) return;
  const [given = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice('charset='.length).replaceAll('"', '');
  if (type === mediaTypes.multipart && given === 'application/octet-stream') return;
  if (given !== type || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')) {
    throw new HttpError('unsupported-media-type', `Send the body with Content-Type: ${type}.`, {}, type === mergePatchType ? { 'accept-patch': type } : {});
  }
}

/** What the default headers of the gateway depend on. */
export interface HeaderOptions {
  readonly publicUrl: string;
  readonly sandbox: boolean;
}

/** Returns the default headers of every response of the gateway. */
export const gatewayHeaders = ({ publicUrl, sandbox }: HeaderOptions): Readonly<Record<string, string>> => responseHeaders(publicUrl, 'no-store', sandbox);

/** `Cache-Control` of answers that are the same for everybody. Shared caches must not store them: they may change at any time. */
export const forEverybody = 'private, no-cache';

const preflightMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE';

/** Sets the default headers before any route, which handlers may replace; refuses malformed requests, and answers preflights. */
export function secureAnswers(instance: FastifyInstance, { corsOrigins, ...options }: HeaderOptions & { readonly corsOrigins: readonly string[] }): void {
  const headers = gatewayHeaders(options);
  instance.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id);
    if (corsOrigins.length > 0) reply.headers(corsHeaders(request.headers.origin, corsOrigins));
    const fault = requestFaultOf(request.raw);
    const preflight = fault === undefined && request.method === 'OPTIONS' ? preflightHeaders(request.raw, corsOrigins, preflightMethods) : undefined;
    if (preflight) void reply.code(204).headers(preflight).send();
    else done(fault);
  });
}

/** Sends an HTML page, which may load nothing from elsewhere. */
export function sendPage(reply: FastifyReply, html: string): void {
  void reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', pagePolicy())
    .send(html);
}
