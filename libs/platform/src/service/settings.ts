import { choice, integer, list, port, type Setting, text, url } from '../config.js';

/** What every service reads. An app spreads it into its own settings. */
export const serviceSettings = {
  nodeEnv: choice('NODE_ENV', ['development', 'production', 'test'], {
    description: '`production` refuses demo data and weak settings',
    default: 'production',
  }),
  logLevel: choice('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], {
    description: 'Lowest level that is logged',
    default: 'info',
  }),
  natsUrl: url('NATS_URL', ['nats', 'tls'], { description: 'The NATS server; with `tls:` no word is said in plain text' }),
  natsCa: text('NATS_CA', {
    description: 'File with the certificates of authorities (PEM), of which it must then have one for its host. Empty: those that Node knows',
    default: '',
  }),
  natsUser: text('NATS_USER', { description: 'User of this service in the NATS accounts', default: '' }),
  natsPassword: text('NATS_PASSWORD', { description: 'Its password', default: '' }),
  opsHost: text('OPS_HOST', { description: 'Address of the operations port', default: '127.0.0.1' }),
  opsPort: port('OPS_PORT', { description: 'Port of /livez, /readyz and /metrics', default: '9090' }),
};

const postgres = ['postgres', 'postgresql'];

/** Where a service finds its own database, logging in as the role that it runs as. */
export const databaseUrl = (variable: string, description: string): Setting<string> => url(variable, postgres, { description });

/** Whose word for the database server's certificate counts, by the name that Postgres' own programs have for it. */
export const databaseCa = text('PGSSLROOTCERT', {
  description:
    'File with the certificates of authorities (PEM), of which the database server must then have one for its host. Empty: as ' +
    '`sslmode` of the address says',
  default: '',
});

/** Where `migrate.ts` finds the same database, logging in as another role; empty if there is only one. */
export const ownerUrl = (variable: string): Setting<string> =>
  url(variable, postgres, {
    description:
      'The same database as the role that owns its tables, for migrations alone. Empty: the service itself owns them, ' +
      'and could do more to them than change rows',
    default: '',
  });

/** Largest number of connections that one replica's pool opens. A test of `deploy/` adds them up for each database. */
export const databasePoolSize = (variable: string, byDefault: number): Setting<number> =>
  integer(variable, {
    description:
      'Connections to the database that one replica opens at most. The database must allow as many for all replicas together, ' +
      'and for one more of each Deployment during a release (`max_connections`)',
    default: String(byDefault),
    min: 4,
    max: 500,
  });

/** How many calls over NATS a service carries out at once. */
export const maxInFlight = (byDefault: number): Setting<number> =>
  integer('MAX_IN_FLIGHT', {
    description: 'Calls carried out at the same time; beyond it callers are told to come back',
    default: String(byDefault),
    min: 1,
    max: 100_000,
  });

/** Of a service that browsers call. `description` says what foreign pages may do with it. */
export const corsOrigins = (description: string): Setting<readonly string[]> =>
  list('CORS_ORIGINS', {
    description,
    each: 'origins (https://shop.example) or *',
    isValid: (entry) => entry === '*' || (URL.canParse(entry) && new URL(entry).origin === entry),
  });
