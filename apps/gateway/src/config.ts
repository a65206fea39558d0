import { isIP } from 'node:net';
import { type Config, integer, list, port, text, url } from '@plant-shop/platform/config';
import { corsOrigins, serviceSettings } from '@plant-shop/platform/service/settings';

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
    description: 'Requests a minute, per credential or, without one, per client address, on all replicas together',
    default: '60000',
    min: 1,
    max: 1_000_000_000,
  }),
  trustedProxies: list('TRUSTED_PROXIES', {
    description: 'Addresses or networks (10.0.0.0/8) of proxies whose `X-Forwarded-For` is believed; others are not',
    each: 'addresses or networks',
    isValid: isNetwork,
  }),
  corsOrigins: corsOrigins('Origins whose pages may call the API, or `*` for all; none by default'),
  maxInFlight: integer('MAX_IN_FLIGHT', {
    description: 'Requests worked on at the same time; beyond it clients are told to come back (503)',
    default: '5000',
    min: 1,
    max: 100_000,
  }),
  maxBodyMib: integer('MAX_BODY_MIB', {
    description: 'MiB of request bodies in memory at the same time; beyond it clients are told to come back (503)',
    default: '128',
    min: 1,
    max: 10_000,
  }),
  readCacheMib: integer('READ_CACHE_MIB', {
    description: 'MiB of plants and lists kept in memory; each is checked before it is sent again',
    default: '64',
    min: 1,
    max: 10_000,
  }),
  requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', {
    description: 'How long a client may take to send a whole request, in milliseconds; for its headers at most 15 s (408)',
    default: '120000',
    min: 100,
    max: 600_000,
  }),
  requestBudgetMs: integer('REQUEST_BUDGET_MS', {
    description: 'How long the services may take over one request, in milliseconds; batches of users and uploads get thrice that',
    default: '10000',
    min: 100,
    max: 60_000,
  }),
};

export type GatewayConfig = Config<typeof gatewaySettings>;
