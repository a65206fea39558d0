/** Allows the origins of this machine on any port, such as `http://localhost:3000`. */
export const loopback = 'loopback';

/**
 * How long browsers may cache a preflight, in seconds. A page then sends one preflight in ten minutes for each address and method,
 * and a change of `CORS_ORIGINS` reaches every browser in that time.
 */
export const preflightMaxAge = 600;

const loopbackOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** Whether pages of an origin may read answers. @param allowed the setting `CORS_ORIGINS` */
export const isAllowedOrigin = (origin: string, allowed: readonly string[]): boolean =>
  allowed.includes('*') || allowed.includes(origin) || (allowed.includes(loopback) && loopbackOrigin.test(origin));
