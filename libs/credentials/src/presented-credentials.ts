import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CredentialRefused } from './credential-refused.js';

/** The credentials that a request shows, at most one of each kind, unchecked. Opaque ones only as their digest. */
export interface PresentedCredentials {
  readonly apiKey?: string;
  readonly session?: string;
  /** A JWT, as it was sent. */
  readonly accessToken?: string;
}

/** RFC 6750's b64token, which an API key and a session token are too. */
const secretForm = /^[A-Za-z0-9._~+/-]{1,512}=*$/;
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const maxJwtLength = 8_192;

/** SHA-256 in base64url: all that leaves this process of a secret. */
export const digestOf = (secret: string): string => hash('sha256', secret, 'base64url');

/**
 * @param apiKeyInQuery for the stream, whose specification has the key in the query
 * @throws CredentialRefused `unauthorized` when a credential cannot be read, or two of one kind are shown
 */
export function presentedCredentialsOf(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>, apiKeyInQuery?: string): PresentedCredentials | undefined {
  const { authorization, api_key: apiKeyInHeader, session_token: session } = request.headers;
  if (apiKeyInHeader !== undefined && apiKeyInQuery !== undefined) throw unreadable('Show one API key, not two.');
  const apiKey = apiKeyInHeader ?? apiKeyInQuery;
  if (authorization === undefined && apiKey === undefined && session === undefined) return undefined;
  const bearer = authorization === undefined ? {} : bearerOf(authorization, request.rawHeaders);
  if (session !== undefined && bearer.session !== undefined) {
    throw unreadable('Show one session token, not two.');
  }
  return {
    ...bearer,
    ...(apiKey !== undefined && { apiKey: digestOf(secretOf(apiKey, 'The API key')) }),
    ...(session !== undefined && { session: digestOf(secretOf(session, 'The header session_token')) }),
  };
}

function bearerOf(authorization: string, rawHeaders: readonly string[]): PresentedCredentials {
  // Node keeps the first of several Authorization headers and says nothing about the others.
  const times = rawHeaders.filter((one, index) => index % 2 === 0 && one.toLowerCase() === 'authorization').length;
  if (times > 1) throw unreadable('Send one Authorization header, not several.');
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw unreadable('Send the token as Authorization: Bearer <token>.');
  if (jwtForm.test(token) && token.length <= maxJwtLength) return { accessToken: token };
  return { session: digestOf(secretOf(token, 'The bearer token')) };
}

/** Node joins repeated headers with a comma, which no secret of ours has. */
function secretOf(value: string | readonly string[], what: string): string {
  if (typeof value !== 'string' || !secretForm.test(value)) throw unreadable(`${what} does not have the form of a credential.`);
  return value;
}

const unreadable = (message: string): CredentialRefused => new CredentialRefused('unauthorized', message);
