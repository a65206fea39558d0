import { type Config, integer, port, text, url } from '@plant-shop/platform/config';
import type { ServiceConfig } from '@plant-shop/platform/service/service';
import { corsOrigins, sandbox, serviceSettings, silentConnections, trustedProxies } from '@plant-shop/platform/service/settings';

/** The gateway's own settings, without those that every service has. */
export type GatewayOptions = Omit<GatewayConfig, keyof ServiceConfig>;

export const GATEWAY_OPTIONS = Symbol('gateway options');

export const gatewaySettings = {
  ...serviceSettings,
  sandbox,
  host: text('GATEWAY_HOST', { description: 'Listen address of the HTTP API', default: '127.0.0.1' }),
  port: port('GATEWAY_PORT', { description: 'Port of the HTTP API', default: '8080' }),
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Public address of the API: base of links, problem types and the token issuer',
  }),
  identityHttpUrl: url('IDENTITY_HTTP_URL', ['http', 'https'], {
    description: "Address of identity's OAuth pages, which the gateway forwards",
  }),
  rateLimitPerMinute: integer('RATE_LIMIT_PER_MINUTE', {
    description:
      'Requests a minute per user, over all their credentials, or per network without one (IPv4 address, IPv6 /64), across replicas. A network ' +
      'registers at most a fiftieth as many users',
    default: '60000',
    min: 1,
    max: 1_000_000_000,
  }),
  trustedProxies: trustedProxies('Addresses or networks (10.0.0.0/8) of proxies whose `X-Forwarded-For` is trusted'),
  corsOrigins: corsOrigins('Origins whose pages may call the API: `loopback` for pages on this machine, `*` for all; none by default'),
  docsOAuthClient: text('DOCS_OAUTH_CLIENT', {
    description:
      'Client id that "Authorize" on the page /docs starts with: a public OAuth client with the redirect URI `PUBLIC_URL/docs/oauth2-redirect.html`. ' +
      'Empty: readers enter one',
    default: '',
  }),
  consoleOAuthClient: text('CONSOLE_OAUTH_CLIENT', {
    description:
      'Client id that people log in with at `/console`; deploy/README.md registers it. Empty: the console says that it is missing',
    default: '',
  }),
  streamPublicUrl: url('STREAM_PUBLIC_URL', ['ws', 'wss'], {
    description: 'Public address of the stream, for the console. Empty: that of the API',
    default: '',
  }),
  maxInFlight: integer('MAX_IN_FLIGHT', {
    description: 'Concurrent requests; further ones get 503',
    default: '5000',
    min: 1,
    max: 100_000,
  }),
  clientInFlightShare: integer('CLIENT_IN_FLIGHT_SHARE', {
    description:
      'Percent of the concurrent requests and of the memory for bodies that one client may use while less than half is used; beyond that a ' +
      'fifth of it; 100: all, always',
    default: '50',
    min: 1,
    max: 100,
  }),
  silentConnections,
  maxBodyMib: integer('MAX_BODY_MIB', {
    description: 'MiB of request bodies in memory; beyond that, requests get 503',
    default: '128',
    min: 1,
    max: 10_000,
  }),
  readCacheMib: integer('READ_CACHE_MIB', {
    description: 'MiB of cached plants and lists, revalidated before each use',
    default: '64',
    min: 1,
    max: 10_000,
  }),
  requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', {
    description: 'Time to receive a whole request, in milliseconds; its headers get 15 s at most (408)',
    default: '120000',
    min: 100,
    max: 600_000,
  }),
  requestBudgetMs: integer('REQUEST_BUDGET_MS', {
    description: 'Time that services may take for a request, in milliseconds; user batches and uploads get three times that',
    default: '10000',
    min: 100,
    max: 60_000,
  }),
};

type GatewayConfig = Config<typeof gatewaySettings>;
