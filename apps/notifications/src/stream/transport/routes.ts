import type { IncomingMessage } from 'node:http';
import { HttpError } from '@plant-shop/contracts/problem';
import { pathOf } from '@plant-shop/platform/http/path-of';
import { updatesPath } from '../request.js';

export const asyncApiPath = '/v1/asyncapi.json';

export const isServed = (path: string): boolean => path === updatesPath || path === asyncApiPath;

/** Returns the path. @throws HttpError `route-not-found`, `method-not-allowed` */
export function checkRoute({ url = '/', method }: IncomingMessage): string {
  const path = pathOf(url);
  if (!isServed(path)) throw noRoute();
  if (method !== 'GET') throw new HttpError('method-not-allowed', 'Read order events with GET.', {}, { allow: 'GET' });
  return path;
}

export const noRoute = (): HttpError =>
  new HttpError('route-not-found', `Nothing is served here. The stream of order events is at ${updatesPath}.`);
