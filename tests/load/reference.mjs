/**
 * CPU of one request of bare Fastify, in microseconds, on the machine where the absolute goals were set (16 to 17;
 * docs/performance/method.md). Measurements are scaled by it: a machine that is a third faster gets a third less time.
 */
export const FASTIFY_MICROSECONDS = 16.5;
