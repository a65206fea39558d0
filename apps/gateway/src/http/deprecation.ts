import type { Deprecation } from '@plant-shop/contracts/deprecation';

/** `Deprecation` (RFC 9745: seconds since the epoch) and `Sunset` (RFC 8594: an HTTP date). */
export const deprecationHeaders = ({ since, sunset }: Deprecation): Readonly<Record<'deprecation' | 'sunset', string>> => ({
  deprecation: `@${since.getTime() / 1000}`,
  sunset: sunset.toUTCString(),
});

/** The notice in the OpenAPI document. */
export const deprecationText = ({ since, sunset }: Deprecation): string =>
  `Deprecated since ${dayText(since)}. Works unchanged until ${dayText(sunset)} and is removed after that.`;

const dayText = (day: Date): string => day.toISOString().slice(0, 10);
