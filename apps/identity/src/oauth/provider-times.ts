import type { AdapterPayload } from 'oidc-provider';
import type { DatabaseClock } from '../database-clock.js';
import type { PageContext } from './form-guard.js';

/**
 * Translates between the provider's clock and the database's. The provider uses this host's clock (`Date.now`) and no other, so
 * it gets all times in host time, and everything that leaves it (stored state, tokens, responses) is in the database's time.
 * A replica thus accepts what another one issued, however far their clocks differ.
 */

/** Members of stored payloads that are times, in seconds since the epoch. */
const timeFields = ['iat', 'exp', 'iiat', 'authTime', 'loginTs', 'consumed'] as const;

type Clock = Pick<DatabaseClock, 'now' | 'secondsAhead'>;

/** Converts a payload of the provider for storage. */
export const toDatabaseTime = (clock: Clock, payload: AdapterPayload): AdapterPayload => shifted(payload, clock.secondsAhead());

/** Converts a stored payload for the provider. */
export const toHostTime = (clock: Clock, payload: AdapterPayload): AdapterPayload => shifted(payload, -clock.secondsAhead());

function shifted(payload: AdapterPayload, seconds: number): AdapterPayload {
  if (seconds === 0) return payload;
  const changed: Record<string, number> = {};
  for (const name of timeFields) {
    const time: unknown = payload[name];
    if (typeof time === 'number') changed[name] = time + seconds;
  }
  return { ...payload, ...changed };
}

/** Middleware that converts the times of introspection responses, and the expiry of cookies to an age. */
export const responsesInDatabaseTime =
  (clock: Clock) =>
  async (ctx: PageContext, next: () => Promise<unknown>): Promise<void> => {
    await next();
    if (ctx.path === '/oauth/introspect' && isObject(ctx.body)) ctx.body = shifted(ctx.body, clock.secondsAhead());
    const cookies = ctx.response.headers['set-cookie'];
    if (Array.isArray(cookies)) ctx.set('Set-Cookie', cookies.map(withMaxAge));
  };

const isObject = (body: unknown): body is AdapterPayload => typeof body === 'object' && body !== null && !Buffer.isBuffer(body);

/** Replaces the expiry of a cookie by an age, which does not depend on the browser's clock. */
const withMaxAge = (cookie: string): string =>
  cookie.replace(/; expires=([^;]+)/i, (expires, date: string) => {
    const seconds = Math.round((Date.parse(date) - Date.now()) / 1_000);
    // A deleted cookie expires in the distant past by any clock.
    return seconds > 0 ? `; max-age=${seconds}` : expires;
  });
