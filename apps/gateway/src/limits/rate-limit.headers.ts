import { Refusal } from '../problems/refusal.js';
import type { Standing } from './rate-limit.js';

// draft-ietf-httpapi-ratelimit-headers: one policy, named "requests".

export const policyHeader = (perMinute: number): string => `"requests";q=${perMinute};w=60`;

export const limitHeader = ({ left, resetSeconds }: Standing): string =>
  `"requests";r=${Math.max(0, left)};t=${resetSeconds}`;

export const tooManyRequests = (resetSeconds: number): Refusal =>
  new Refusal(
    'too-many-requests',
    `The limit of requests per minute is used up. Try again in ${resetSeconds} s.`,
    {},
    { 'retry-after': String(Math.max(1, resetSeconds)) },
  );
