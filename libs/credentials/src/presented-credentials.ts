import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CredentialRefused } from './authentication.js';

/** The credentials of a request, unchecked, at most one of each kind. Opaque ones only as digests. */
export interface PresentedCredentials {
  readonly apiKey?: string;
  readonly session?: string;
  readonly accessToken?: { readonly jwt: string; readonly digest: string };
}

/** RFC 6750's b64token; API keys and session tokens have the same form. */
const secretForm = /^[A-Za-z0-9._~+/-]{1,512}=*$/;
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const maxJwtLength = 8_192;

/** SHA-256 in base64url. Only this digest of a secret leaves the process. */
export const digestOf = (secret: string): string => hash('sha256', secret, 'base64url');

type Request = Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'socket'>;

/** The last secret of each connection. Most repeat it with every request, and its digest costs as much as the rest of reading it. */
const lastOf = new WeakMap<object, { readonly secret: string; readonly digest: string }>();

function digestOn({ socket }: Request, secret: string): string {
  const last = lastOf.get(socket);
  if (last?.secret === secret) return last.digest;
  const digest = digestOf(secret);
  lastOf.set(socket, { secret, digest });
  return digest;
}

/**
 * Reads the credentials of a request; undefined without any.
 * @param apiKeyInQuery the key of a stream connection, which its specification puts into the query
 * @throws CredentialRefused `unauthorized` when a credential cannot be parsed, or when there are two of one kind
 */
export function presentedCredentialsOf(
  request: Request,
  apiKeyInQuery?: string,
): PresentedCredentials | undefined {
  const { authorization, api_key: apiKeyInHeader, session_token: session } = request.headers;
  if (apiKeyInHeader !== undefined && apiKeyInQuery !== undefined) throw unreadable('Send one API key, not two.');
  const apiKey = apiKeyInHeader ?? apiKeyInQuery;
  if (authorization === undefined && apiKey === undefined && session === undefined) return undefined;
  const bearer = authorization === undefined ? {} : bearerOf(authorization, request);
  if (session !== undefined && bearer.session !== undefined) {
    throw unreadable('Send one session token, not two.');
  }
  return {
    ...bearer,
    ...(apiKey !== undefined && { apiKey: digestOn(request, secretOf(apiKey, 'The API key')) }),
    ...(session !== undefined && { session: digestOn(request, secretOf(session, 'The header session_token')) }),
  };
}

function bearerOf(authorization: string, request: Request): PresentedCredentials {
  // Node keeps the first of several Authorization headers and silently drops the others.
  const count = request.rawHeaders.filter((one, index) => index % 2 === 0 && one.toLowerCase() === 'authorization').length;
  if (count > 1) throw unreadable('Send one Authorization header, not several.');
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw unreadable('Send the token as Authorization: Bearer <token>.');
  if (jwtForm.test(token) && token.length <= maxJwtLength) return { accessToken: { jwt: token, digest: digestOn(request, token) } };
  return { session: digestOn(request, secretOf(token, 'The bearer token')) };
}

/** Node joins repeated headers with a comma, which none of our secrets contains. */
function secretOf(value: string | readonly string[], what: string): string {
  if (typeof value !== 'string' || !secretForm.test(value)) throw unreadable(`${what} does not have the form of a credential.`);
  return value;
}

const unreadable = (message: string): CredentialRefused => new CredentialRefused('unauthorized', message);
