/**
 * Nothing may load or run content unless the handler sets another policy, no framing, no reach from
 * windows of other origins, and no referrer (URLs may contain secrets).
 */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** Returns the HSTS header if clients connect by TLS: a year and all subdomains, the minimum that browsers' preload lists require. */
export const transportSecurity = (publicUrl: string): { readonly 'strict-transport-security'?: string } =>
  /^(https|wss):/.test(publicUrl) ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } : {};

/** Returns the header that names the mode of a sandbox in each of its answers. */
export const shopMode = (sandbox: boolean): { readonly 'x-shop-mode'?: string } => (sandbox ? { 'x-shop-mode': 'sandbox' } : {});

/** Returns the default headers of every response of a server. @param publicUrl the address by which clients reach this server */
export const responseHeaders = (publicUrl: string, cacheControl: string, sandbox = false): Readonly<Record<string, string>> => ({
  ...securityHeaders,
  'cache-control': cacheControl,
  ...transportSecurity(publicUrl),
  ...shopMode(sandbox),
});
