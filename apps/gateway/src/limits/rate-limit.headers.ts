import { HttpError } from '@plant-shop/contracts/problem';
import type { RateLimitStatus } from './rate-limit.js';

// draft-ietf-httpapi-ratelimit-headers: one policy, named "requests".

export const policyHeader = (perMinute: number): string => `"requests";q=${perMinute};w=60`;

export const limitHeader = ({ remaining, resetSeconds }: RateLimitStatus): string =>
  `"requests";r=${Math.max(0, remaining)};t=${resetSeconds}`;

export const tooManyRequests = (resetSeconds: number): HttpError =>
  new HttpError(
    'too-many-requests',
    `The limit of requests per minute is exhausted. Try again in ${resetSeconds} s.`,
    {},
    { 'retry-after': String(Math.max(1, resetSeconds)) },
  );
