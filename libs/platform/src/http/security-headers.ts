/**
 * Nothing may load or run content unless the handler sets another policy, no framing, and no referrer (URLs may contain
 * secrets).
 */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Returns the HSTS header if clients connect by TLS: a year, the minimum that browsers' preload lists require. */
export const transportSecurity = (publicUrl: string): { readonly 'strict-transport-security'?: string } =>
  /^(https|wss):/.test(publicUrl) ? { 'strict-transport-security': 'max-age=31536000' } : {};

/** Returns the default headers of every response of a server. @param publicUrl the address by which clients reach this server */
export const responseHeaders = (publicUrl: string, cacheControl: string): Readonly<Record<string, string>> => ({
  ...securityHeaders,
  'cache-control': cacheControl,
  ...transportSecurity(publicUrl),
});
