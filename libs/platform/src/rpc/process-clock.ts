/** The host's time of day when this process started, in milliseconds since the epoch. */
const origin = performance.timeOrigin;

/**
 * Returns the process clock in milliseconds: it starts at the host's time of day and advances with the monotonic clock, so
 * setting the host's clock does not move it. Two processes' clocks differ by a constant, except for drift (parts per million) and
 * suspended hosts.
 */
export const processNow = (): number => origin + performance.now();
