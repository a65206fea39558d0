import { isIP } from 'node:net';
import { choice, flag, integer, list, port, type Setting, text, url } from '../config.js';
import { loopback } from '../http/cors.js';

/** The settings of every service. An app spreads them into its own settings. */
export const serviceSettings = {
  nodeEnv: choice('NODE_ENV', ['development', 'production', 'test'], {
    description: '`production` refuses demo data and weak settings',
    default: 'production',
  }),
  logLevel: choice('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], {
    description: 'Lowest level that is logged',
    default: 'info',
  }),
  natsUrl: url('NATS_URL', ['nats', 'tls'], { description: 'NATS server; `tls:` refuses plain text' }),
  natsCa: text('NATS_CA', {
    description: 'CA file (PEM) for the certificate of its host. Empty: the CAs that Node knows',
    default: '',
  }),
  natsUser: text('NATS_USER', { description: 'User of this service in the NATS accounts', default: '' }),
  natsPassword: text('NATS_PASSWORD', { description: 'Its password', default: '' }),
  opsHost: text('OPS_HOST', { description: 'Address of the operations port', default: '127.0.0.1' }),
  opsPort: port('OPS_PORT', { description: 'Port of /livez, /readyz and /metrics', default: '9090' }),
};

/** The mode of the whole installation. Each database has the one that it was created with. */
export const sandbox = flag('SANDBOX', {
  description: 'The shop is for the tests of those who use it: payments end as an order says, and `/v3/test/*` exists. Needs databases created with it',
  default: 'false',
});

const postgres = ['postgres', 'postgresql'];

/** The URL of a service's own database, with the role that the service runs as. */
export const databaseUrl = (variable: string, description: string): Setting<string> => url(variable, postgres, { description });

/** The CAs of the database server's certificate. The variable's name is the one that Postgres' own programs use. */
export const databaseCa = text('PGSSLROOTCERT', {
  description: 'CA file (PEM) that must have issued the certificate of the database host. Empty: `sslmode` of the URL decides',
  default: '',
});

/** The URL of the same database for `migrate.ts`, with the role that owns the tables; empty if the service owns them. */
export const ownerUrl = (variable: string): Setting<string> =>
  url(variable, postgres, {
    description: 'The same database as the role that owns its tables, for migrations only. Empty: the service owns them, and could do more than change rows',
    default: '',
  });

/** The maximum size of one replica's pool. A test of `deploy/` adds the sizes up for each database. */
export const databasePoolSize = (variable: string, byDefault: number): Setting<number> =>
  integer(variable, {
    description:
      'Connections that one replica opens at most. `max_connections` of the database must allow all replicas, and one more of ' +
      'each Deployment during a release',
    default: String(byDefault),
    min: 4,
    max: 500,
  });

/** The maximum number of calls over NATS that a service handles concurrently. */
export const maxInFlight = (byDefault: number): Setting<number> =>
  integer('MAX_IN_FLIGHT', {
    description: 'Concurrent calls; further ones are refused (`overloaded`)',
    default: String(byDefault),
    min: 1,
    max: 100_000,
  });

/** The allowed origins of a service that browsers call. @param description says what pages of these origins may do */
export const corsOrigins = (description: string): Setting<readonly string[]> =>
  list('CORS_ORIGINS', {
    description,
    each: 'origins (https://shop.example), loopback or *',
    isValid: (entry) => entry === '*' || entry === loopback || (URL.canParse(entry) && new URL(entry).origin === entry),
  });

/** How many connections of a network may be open that have sent no request. */
export const silentConnections = integer('SILENT_CONNECTIONS', {
  description: 'Connections of a network without a request so far; beyond it the oldest is closed. Not for `TRUSTED_PROXIES`',
  default: '64',
  min: 1,
  max: 1_000_000,
});

/** The proxies in front of a service. @param description what follows from being one */
export const trustedProxies = (description: string): Setting<readonly string[]> =>
  list('TRUSTED_PROXIES', { description, each: 'addresses or networks', isValid: isNetwork });

function isNetwork(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}
