/**
 * Returns the address of an image that the page may show: only the shop's own, because of the Content-Security-Policy.
 * Images elsewhere are linked instead.
 */
export function ownImage(address: string): string | undefined {
  const url = URL.parse(address, location.origin);
  return url?.origin === location.origin && url.pathname.startsWith('/v3/images/') ? url.pathname : undefined;
}

/** Whether a link to the address is safe: no `javascript:`. */
export const webAddress = (address: string): string | undefined => {
  const url = URL.parse(address);
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
};
