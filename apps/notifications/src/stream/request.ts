import type { IncomingMessage } from 'node:http';
import { eventTypes } from '@plant-shop/contracts/events';
import { orderStatuses } from '@plant-shop/contracts/store';
import { CredentialRefused } from '@plant-shop/credentials/credential-refused';
import { presentedCredentialsOf, type PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import { CodedError } from '@plant-shop/platform/errors';
import { type Cursor, decodeCursor } from '../log/cursor.js';
import { defaultTypes, type EventTypes, eventTypesOf } from '../log/event-types.js';
import type { Filter } from '../log/subscription.js';
import { badParameter, HttpProblem } from './problems.js';

export const updatesPath = '/v1/orders/updates';

/** Where a client wants to start. */
export type Start = 'latest' | 'earliest' | Cursor;

/** A request for order events, validated as far as that needs no other service. */
export interface StreamRequest {
  readonly credentials: PresentedCredentials;
  readonly filter: Filter;
  /** Undefined if the request has no cursor. */
  readonly start: Start | undefined;
  readonly limit: number;
  readonly waitSeconds: number;
}

const defaultLimit = 100;
const maxLimit = 1_000;
const maxWaitSeconds = 30;
const maxFilterValues = 100;

/** @throws CodedError `malformed-request`, `unauthorized`, `invalid-cursor`, `invalid-input` */
export function readRequest(request: IncomingMessage): StreamRequest {
  const query = queryOf(request);
  const one = (name: string): string | undefined => {
    const values = query.getAll(name);
    if (values.length > 1) throw badParameter(name, 'must be given once');
    return values[0];
  };
  const credentials = presentedCredentialsOf(request, one('api_key'));
  if (!credentials) {
    throw new CredentialRefused('unauthorized', 'Send an API key as the parameter or header api_key, or a token.');
  }
  return {
    credentials,
    filter: {
      types: typesOf(query),
      ...filterOf('orderIds', idsOf(query, 'orderId')),
      ...filterOf('plantIds', idsOf(query, 'plantId')),
      ...filterOf('newStatuses', statusesOf(query)),
    },
    start: startOf(lastEventId(request) ?? one('cursor')),
    limit: integerOf('limit', one('limit') ?? String(defaultLimit), 1, maxLimit),
    waitSeconds: integerOf('wait', one('wait') ?? '0', 0, maxWaitSeconds),
  };
}

/** Parses the query strictly: refuses encoding errors instead of repairing them. */
function queryOf(request: IncomingMessage): URLSearchParams {
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(request.url ?? '') ?? [];
  try {
    decodeURIComponent(query);
  } catch {
    throw new HttpProblem('malformed-request', 'The query must be valid percent-encoded UTF-8.');
  }
  return new URLSearchParams(query);
}

/** Returns the Last-Event-ID of a reconnecting EventSource. It is newer than the cursor in the URL, which stays the same. */
function lastEventId(request: IncomingMessage): string | undefined {
  const id = request.headers['last-event-id'];
  return id === undefined || id === '' ? undefined : String(id);
}

function startOf(text: string | undefined): Start | undefined {
  if (text === undefined || text === 'latest' || text === 'earliest') return text;
  const cursor = decodeCursor(text);
  if (cursor) return cursor;
  throw new CodedError('invalid-cursor', 'Use latest, earliest, or a cursor exactly as received with an event.');
}

function integerOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || value < min || value > max) throw badParameter(name, `must be a whole number from ${min} to ${max}`);
  return value;
}

/** Returns the distinct values of a parameter that may be a comma-separated list, repeated, or both. */
function listOf(query: URLSearchParams, name: string): readonly string[] | undefined {
  const given = query.getAll(name);
  if (given.length === 0) return undefined;
  const values = [...new Set(given.flatMap((one) => one.split(',').map((value) => value.trim())))];
  if (values.length > maxFilterValues) throw badParameter(name, `must have at most ${maxFilterValues} values`);
  return values;
}

const idsOf = (query: URLSearchParams, name: string): readonly number[] | undefined =>
  listOf(query, name)?.map((text) => integerOf(name, text, 1, Number.MAX_SAFE_INTEGER));

const statusesOf = (query: URLSearchParams): readonly string[] | undefined => someOf(query, 'newStatus', orderStatuses);

function typesOf(query: URLSearchParams): EventTypes {
  const types = someOf(query, 'types', eventTypes);
  return types === undefined ? defaultTypes : eventTypesOf(types);
}

function someOf(query: URLSearchParams, name: string, known: readonly string[]): readonly string[] | undefined {
  const values = listOf(query, name);
  if (values?.some((one) => !known.includes(one))) throw badParameter(name, `must be some of ${known.join(', ')}`);
  return values;
}

const filterOf = <K extends Exclude<keyof Filter, 'types'>>(name: K, values: Filter[K] | undefined): Pick<Filter, K> | object =>
  values === undefined ? {} : { [name]: values };
