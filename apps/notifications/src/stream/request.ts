import type { IncomingMessage } from 'node:http';
import { eventTypes } from '@plant-shop/contracts/events';
import { badParameter, checkEncoding, HttpError } from '@plant-shop/contracts/problem';
import { orderStatuses } from '@plant-shop/contracts/store';
import { CredentialRefused } from '@plant-shop/credentials/authentication';
import { type PresentedCredentials, presentedCredentialsOf } from '@plant-shop/credentials/presented-credentials';
import { CodedError } from '@plant-shop/platform/errors';
import { pathOf } from '@plant-shop/platform/http/request';
import { readId, UrlEncoded } from '@plant-shop/platform/http/url-encoded';
import { type Cursor, decodeCursor } from '../log/history.js';
import { defaultTypes, type EventTypes, eventTypesOf, type Filter } from '../log/subscription.js';
import { defaultLimit, maxLimit, maxWaitSeconds } from '../options.js';

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

const maxFilterValues = 100;

/** @throws CodedError `malformed-request`, `unauthorized`, `invalid-cursor`, `invalid-input` */
export function readRequest(request: IncomingMessage): StreamRequest {
  const query = queryOf(request);
  const one = (name: string): string | undefined => query.one(name, badParameter);
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
    limit: query.integer('limit', { min: 1, max: maxLimit }, badParameter) ?? defaultLimit,
    waitSeconds: query.integer('wait', { min: 0, max: maxWaitSeconds }, badParameter) ?? 0,
  };
}

function queryOf({ url = '' }: IncomingMessage): UrlEncoded {
  const [, text = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  const query = UrlEncoded.parse(text);
  checkEncoding('query', query);
  return query;
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

function listOf(query: UrlEncoded, name: string): readonly string[] | undefined {
  const values = query.list(name);
  if (values !== undefined && values.length > maxFilterValues) throw badParameter(name, `must have at most ${maxFilterValues} values`);
  return values;
}

const idsOf = (query: UrlEncoded, name: string): readonly number[] | undefined =>
  listOf(query, name)?.map((text) => readId(name, text, badParameter));

const statusesOf = (query: UrlEncoded): readonly string[] | undefined => someOf(query, 'newStatus', orderStatuses);

function typesOf(query: UrlEncoded): EventTypes {
  const types = someOf(query, 'types', eventTypes);
  return types === undefined ? defaultTypes : eventTypesOf(types);
}

function someOf(query: UrlEncoded, name: string, known: readonly string[]): readonly string[] | undefined {
  const values = listOf(query, name);
  if (values?.some((one) => !known.includes(one))) throw badParameter(name, `must be some of ${known.join(', ')}`);
  return values;
}

const filterOf = <K extends Exclude<keyof Filter, 'types'>>(name: K, values: Filter[K] | undefined): Pick<Filter, K> | object =>
  values === undefined ? {} : { [name]: values };

export const asyncApiPath = '/v1/asyncapi.json';

export const servedMethods = 'GET, HEAD';

/** Returns the path. @throws HttpError `route-not-found`, `method-not-allowed` */
export function checkRoute({ url = '/', method }: IncomingMessage): string {
  const path = pathOf(url);
  if (path !== updatesPath && path !== asyncApiPath) throw noRoute();
  if (method !== 'GET' && method !== 'HEAD') {
    throw new HttpError('method-not-allowed', 'Read order events with GET.', {}, { allow: servedMethods });
  }
  return path;
}

export const noRoute = (): HttpError =>
  new HttpError('route-not-found', `Nothing is served here. The stream of order events is at ${updatesPath}.`);
