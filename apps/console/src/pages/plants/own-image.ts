/**
 * The address at which the page may show a picture: only the shop's own, since the Content-Security-Policy lets no other in.
 * Pictures elsewhere are linked instead.
 */
export function ownImage(address: string): string | undefined {
  const url = URL.parse(address, location.origin);
  return url?.origin === location.origin && url.pathname.startsWith('/v3/images/') ? url.pathname : undefined;
}

/** An address that is safe to link: no `javascript:`. */
export const webAddress = (address: string): string | undefined => {
  const url = URL.parse(address);
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
};
