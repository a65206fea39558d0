import type { IncomingMessage } from 'node:http';
import { pathOf, HttpProblem } from './problems.js';
import { updatesPath } from './request.js';

export const asyncApiPath = '/v1/asyncapi.json';

export const isServed = (path: string): boolean => path === updatesPath || path === asyncApiPath;

/** @throws HttpProblem `route-not-found`, `method-not-allowed` */
export function checkRoute(request: IncomingMessage): void {
  if (!isServed(pathOf(request))) throw noRoute();
  if (request.method !== 'GET') throw new HttpProblem('method-not-allowed', 'Read order events with GET.', { allow: 'GET' });
}

export const noRoute = (): HttpProblem =>
  new HttpProblem('route-not-found', `Nothing is served here. The stream of order events is at ${updatesPath}.`);
