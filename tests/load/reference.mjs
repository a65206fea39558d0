/**
 * CPU of one request of bare Fastify, in microseconds, where the goals were set that are no ratios (16 to 17; docs/performance/method.md). What is
 * measured against them is scaled by it: a machine, or a phase of one, that is faster by a third has a third less time.
 */
export const FASTIFY_MICROSECONDS = 16.5;
