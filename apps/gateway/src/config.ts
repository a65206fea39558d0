import { isIP } from 'node:net';
import { type Config, integer, list, port, text, url } from '@plant-shop/platform/config';
import { serviceSettings } from '@plant-shop/platform/service/settings';

function isNetwork(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

export const gatewaySettings = {
  ...serviceSettings,
  host: text('GATEWAY_HOST', { description: 'Address that the HTTP API listens on', default: '127.0.0.1' }),
  port: port('GATEWAY_PORT', { description: 'Port of the HTTP API', default: '8080' }),
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Where clients reach the API: links, problem types and the issuer of tokens are built from it',
  }),
  identityHttpUrl: url('IDENTITY_HTTP_URL', ['http', 'https'], {
    description: "Where identity serves its OAuth pages; they are reached through the gateway's origin",
  }),
  rateLimitPerMinute: integer('RATE_LIMIT_PER_MINUTE', {
    description: 'Requests a minute and replica, per credential or, without one, per client address',
    default: '60000',
    min: 1,
    max: 1_000_000_000,
  }),
  trustedProxies: list('TRUSTED_PROXIES', {
    description: 'Addresses or networks (10.0.0.0/8) of proxies whose `X-Forwarded-For` is believed; others are not',
    each: 'addresses or networks',
    isValid: isNetwork,
  }),
  corsOrigins: list('CORS_ORIGINS', {
    description: 'Origins whose pages may call the API, or `*` for all; none by default',
    each: 'origins (https://shop.example) or *',
    isValid: (entry) => entry === '*' || (URL.canParse(entry) && new URL(entry).origin === entry),
  }),
  requestBudgetMs: integer('REQUEST_BUDGET_MS', {
    description: 'How long the services may take over one request, in milliseconds; batches of users and uploads get thrice that',
    default: '10000',
    min: 100,
    max: 60_000,
  }),
};

export type GatewayConfig = Config<typeof gatewaySettings>;
