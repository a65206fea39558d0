import { InvalidUrl } from './errors.js';

/** Returns the origin of an address without a path; accepts `/v3` at its end. @throws InvalidUrl */
export function originOf(text: string): string {
  const trimmed = text.replace(/\/+$/, '').replace(/\/v3$/, '');
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.username !== '') throw new InvalidUrl(text);
  return url.origin;
}
