/**
 * Headers of every response: nothing may load or run content unless the handler sets another policy, no framing, and no referrer
 * (URLs may contain secrets).
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Returns the HSTS header if clients connect by TLS: a year, the minimum that browsers' preload lists require. */
export const transportSecurity = (publicUrl: string): { readonly 'strict-transport-security'?: string } =>
  /^(https|wss):/.test(publicUrl) ? { 'strict-transport-security': 'max-age=31536000' } : {};
