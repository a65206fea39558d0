import type { AdapterPayload } from 'oidc-provider';
import type { DatabaseClock } from '../credentials/database-clock.js';
import type { PageContext } from './form.js';

/**
 * The provider knows one clock, this host's (`Date.now`), and cannot be given another. So it sees all times as this host would
 * have written them, and whatever leaves it (stored state, tokens, answers) has the database's times: what one replica issued,
 * another takes, however far their clocks are apart.
 */

/** Members of stored payloads that are moments, in seconds since the epoch. */
const moments = ['iat', 'exp', 'iiat', 'authTime', 'loginTs', 'consumed'] as const;

type Clock = Pick<DatabaseClock, 'now' | 'secondsAhead'>;

/** What the provider hands over, to be kept. */
export const toDatabaseTime = (clock: Clock, payload: AdapterPayload): AdapterPayload => moved(payload, clock.secondsAhead());

/** What was kept, for the provider. */
export const toHostTime = (clock: Clock, payload: AdapterPayload): AdapterPayload => moved(payload, -clock.secondsAhead());

function moved(payload: AdapterPayload, seconds: number): AdapterPayload {
  if (seconds === 0) return payload;
  const changed: Record<string, number> = {};
  for (const name of moments) {
    const moment: unknown = payload[name];
    if (typeof moment === 'number') changed[name] = moment + seconds;
  }
  return { ...payload, ...changed };
}

/** Answers that tell moments, and cookies that end. */
export const answersInDatabaseTime =
  (clock: Clock) =>
  async (ctx: PageContext, next: () => Promise<unknown>): Promise<void> => {
    await next();
    if (ctx.path === '/oauth/introspect' && isObject(ctx.body)) ctx.body = moved(ctx.body, clock.secondsAhead());
    const cookies = ctx.response.headers['set-cookie'];
    if (Array.isArray(cookies)) ctx.set('Set-Cookie', cookies.map(endingAfter));
  };

const isObject = (body: unknown): body is AdapterPayload => typeof body === 'object' && body !== null && !Buffer.isBuffer(body);

/** The end of a cookie as an age, which needs no clock of the browser. */
const endingAfter = (cookie: string): string =>
  cookie.replace(/; expires=([^;]+)/i, (expires, date: string) => {
    const seconds = Math.round((Date.parse(date) - Date.now()) / 1_000);
    // One that is taken back has an end that is past by any clock.
    return seconds > 0 ? `; max-age=${seconds}` : expires;
  });
