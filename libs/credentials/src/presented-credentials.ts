import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CredentialRefused } from './authentication.js';

/** The credentials of a request, unchecked, at most one of each kind. Opaque ones only as digests. */
export interface PresentedCredentials {
  readonly apiKey?: string;
  readonly session?: string;
  /** A JWT, as it was sent. */
  readonly accessToken?: string;
}

/** RFC 6750's b64token; API keys and session tokens have the same form. */
const secretForm = /^[A-Za-z0-9._~+/-]{1,512}=*$/;
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const maxJwtLength = 8_192;

/** SHA-256 in base64url. Only this digest of a secret leaves the process. */
export const digestOf = (secret: string): string => hash('sha256', secret, 'base64url');

/**
 * Reads the credentials of a request; undefined without any.
 * @param apiKeyInQuery the key of a stream connection, which its specification puts into the query
 * @throws CredentialRefused `unauthorized` when a credential cannot be parsed, or when there are two of one kind
 */
export function presentedCredentialsOf(
  request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  apiKeyInQuery?: string,
): PresentedCredentials | undefined {
  const { authorization, api_key: apiKeyInHeader, session_token: session } = request.headers;
  if (apiKeyInHeader !== undefined && apiKeyInQuery !== undefined) throw unreadable('Send one API key, not two.');
  const apiKey = apiKeyInHeader ?? apiKeyInQuery;
  if (authorization === undefined && apiKey === undefined && session === undefined) return undefined;
  const bearer = authorization === undefined ? {} : bearerOf(authorization, request.rawHeaders);
  if (session !== undefined && bearer.session !== undefined) {
    throw unreadable('Send one session token, not two.');
  }
  return {
    ...bearer,
    ...(apiKey !== undefined && { apiKey: digestOf(secretOf(apiKey, 'The API key')) }),
    ...(session !== undefined && { session: digestOf(secretOf(session, 'The header session_token')) }),
  };
}

function bearerOf(authorization: string, rawHeaders: readonly string[]): PresentedCredentials {
  // Node keeps the first of several Authorization headers and silently drops the others.
  const count = rawHeaders.filter((one, index) => index % 2 === 0 && one.toLowerCase() === 'authorization').length;
  if (count > 1) throw unreadable('Send one Authorization header, not several.');
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw unreadable('Send the token as Authorization: Bearer <token>.');
  if (jwtForm.test(token) && token.length <= maxJwtLength) return { accessToken: token };
  return { session: digestOf(secretOf(token, 'The bearer token')) };
}

/** Node joins repeated headers with a comma, which none of our secrets contains. */
function secretOf(value: string | readonly string[], what: string): string {
  if (typeof value !== 'string' || !secretForm.test(value)) throw unreadable(`${what} does not have the form of a credential.`);
  return value;
}

const unreadable = (message: string): CredentialRefused => new CredentialRefused('unauthorized', message);
