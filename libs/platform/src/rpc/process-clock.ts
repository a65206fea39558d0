/** Milliseconds since the epoch by the host's clock as it stood when this process started. */
const origin = performance.timeOrigin;

/**
 * The process clock: milliseconds that advance with the monotonic clock, from the time of day at which this process
 * started. Setting the host's clock does not move it. Two processes' clocks differ by a constant, apart from drift
 * (parts per million) and a host that is suspended.
 */
export const processNow = (): number => origin + performance.now();
