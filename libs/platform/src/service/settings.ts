import { choice, port, text, url } from '../config.js';

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
  natsUrl: url('NATS_URL', ['nats', 'tls'], { description: 'The NATS server' }),
  natsUser: text('NATS_USER', { description: 'User of this service in the NATS accounts', default: '' }),
  natsPassword: text('NATS_PASSWORD', { description: 'Its password', default: '' }),
  opsHost: text('OPS_HOST', { description: 'Address of the operations port', default: '127.0.0.1' }),
  opsPort: port('OPS_PORT', { description: 'Port of /livez, /readyz and /metrics', default: '9090' }),
};
