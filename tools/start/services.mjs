import { ownerVariable } from './databases.mjs';
import { freePort, nextFreePort } from './ports.mjs';

export const SERVICES = /** @type {const} */ (['gateway', 'catalog', 'store', 'identity', 'notifications']);

/** @typedef {typeof SERVICES[number]} ServiceName */

/** NATS users: the services, and an operator (tools/reconcile). */
export const NATS_USERS = /** @type {const} */ ([...SERVICES, 'operator']);

/** @typedef {typeof NATS_USERS[number]} NatsUser */

/** @typedef {Pick<import('./credentials.mjs').Credentials, 'identitySecret' | 'notificationsSecret'>} OwnSecrets */

/**
 * A service instance to run.
 * @typedef {object} Instance
 * @property {ServiceName} service
 * @property {string} label the service's name, numbered when it has several replicas
 * @property {number} opsPort serves /livez, /readyz and /metrics on loopback
 * @property {number} [port] for clients (gateway, notifications) or for the gateway (identity)
 */

/**
 * Connections that all instances share.
 * @typedef {object} Wiring
 * @property {Instance[]} instances
 * @property {string} publicUrl
 * @property {string | undefined} [streamPublicUrl] absent: each replica's own
 * @property {import('./broker.mjs').Broker} broker
 * @property {Record<import('./credentials.mjs').Database, string>} databaseUrls
 * @property {string | undefined} [databaseCa] CA file of their server's certificate
 * @property {OwnSecrets} credentials
 * @property {string | undefined} [smtpUrl] the launcher's mail server; absent: the user's, or none
 */

/**
 * @param {Record<ServiceName, number>} replicas
 * @param {{ GATEWAY_PORT: number, STREAM_PORT: number }} ports of the first replicas
 * @returns {Promise<Instance[]>}
 */
export async function planInstances(replicas, ports) {
  /** @type {Partial<Record<ServiceName, (replica: number) => Promise<number>>>} */
  const portOf = {
    gateway: async (replica) => (replica === 1 ? ports.GATEWAY_PORT : nextFreePort(ports.GATEWAY_PORT + 1)),
    notifications: async (replica) => (replica === 1 ? ports.STREAM_PORT : nextFreePort(ports.STREAM_PORT + 1)),
    identity: () => freePort(),
  };
  /** @type {Instance[]} */
  const instances = [];
  for (const service of SERVICES) {
    for (let replica = 1; replica <= replicas[service]; replica += 1) {
      const label = replicas[service] === 1 ? service : `${service}-${replica}`;
      const opsPort = await freePort();
      const port = await portOf[service]?.(replica);
      instances.push({ service, label, opsPort, ...(port !== undefined && { port }) });
    }
  }
  return instances;
}

/**
 * Returns an instance's environment. The user's variables override the demo's defaults, but not connections, which differ
 * between processes.
 * @param {Instance} instance
 * @param {Wiring} wiring
 * @param {NodeJS.ProcessEnv} inherited
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentOf(instance, wiring, inherited) {
  const { service, opsPort } = instance;
  const password = wiring.broker.passwords[service];
  return {
    NODE_ENV: 'development',
    LOG_LEVEL: 'info',
    ...demoDefaults[service],
    ...ownSecrets(service, wiring.credentials),
    ...(service === 'notifications' && wiring.smtpUrl !== undefined && { SMTP_URL: wiring.smtpUrl }),
    ...withoutOthers(inherited, service),
    ...onlyFor(service, inherited),
    PUBLIC_URL: wiring.publicUrl,
    NATS_URL: wiring.broker.url,
    // Empty for the launcher's servers, which have no certificates, regardless of the machine's settings for `psql`.
    NATS_CA: wiring.broker.ca ?? '',
    PGSSLROOTCERT: wiring.databaseCa ?? '',
    ...(password === undefined ? {} : { NATS_USER: service, NATS_PASSWORD: password }),
    OPS_PORT: `${opsPort}`,
    ...ownWiring[service](instance, wiring),
  };
}

/** Ports of webhook receivers on this machine; 8090 is that of `npm run receive`. */
export const RECEIVER_PORTS = [8000, 8090, 9000];

/** Settings of the demo; tests/deploy checks that docker-compose.yml has the same. @type {Record<ServiceName, NodeJS.ProcessEnv>} */
export const demoDefaults = {
  // Pages on this machine, such as a front end in development.
  gateway: { RATE_LIMIT_PER_MINUTE: '6000000', CORS_ORIGINS: 'loopback', DOCS_OAUTH_CLIENT: 'plant-docs', CONSOLE_OAUTH_CLIENT: 'plant-console' },
  catalog: {},
  store: { INITIAL_STOCK: '100', PAYMENT_PROVIDER: 'simulated' },
  identity: { DEMO_DATA: 'true', PASSWORD_MIN_LENGTH: '1', REFUSE_COMMON_PASSWORDS: 'false', REQUIRE_SECOND_FACTOR: 'none', LOGIN_LIMIT_PER_USER: '1000', LOGIN_LIMIT_PER_ADDRESS: '1000' },
  notifications: {
    WEBHOOK_ALLOWED_TARGETS: ['127.0.0.1', 'localhost', '[::1]'].flatMap((host) => RECEIVER_PORTS.map((port) => `${host}:${port}`)).join(),
    DESTINATION_ALLOWED_TARGETS: '127.0.0.1:*,localhost:*',
    CORS_ORIGINS: 'loopback',
    MAIL_FROM: 'shop@plant-shop.example',
  },
};

/** @type {Record<ServiceName, (instance: Instance, wiring: Wiring) => NodeJS.ProcessEnv>} */
const ownWiring = {
  gateway: ({ port }, { instances, streamPublicUrl }) => {
    const portOf = (/** @type {ServiceName} */ name) => instances.find(({ service }) => service === name)?.port;
    return {
      GATEWAY_PORT: `${port}`,
      IDENTITY_HTTP_URL: `http://127.0.0.1:${portOf('identity')}`,
      STREAM_PUBLIC_URL: streamPublicUrl ?? `ws://127.0.0.1:${portOf('notifications')}`,
    };
  },
  catalog: (_, { databaseUrls }) => ({ CATALOG_DATABASE_URL: databaseUrls.catalog }),
  store: (_, { databaseUrls }) => ({ STORE_DATABASE_URL: databaseUrls.store }),
  identity: ({ port }, { databaseUrls }) => ({ IDENTITY_DATABASE_URL: databaseUrls.identity, IDENTITY_HTTP_PORT: `${port}` }),
  notifications: ({ port }, { databaseUrls, streamPublicUrl }) => ({
    NOTIFICATIONS_DATABASE_URL: databaseUrls.notifications,
    STREAM_PORT: `${port}`,
    STREAM_PUBLIC_URL: streamPublicUrl ?? `ws://127.0.0.1:${port}`,
  }),
};

/** @param {ServiceName} service @param {OwnSecrets} credentials @returns {NodeJS.ProcessEnv} */
function ownSecrets(service, credentials) {
  if (service === 'identity') return { IDENTITY_SECRET: credentials.identitySecret };
  if (service === 'notifications') return { NOTIFICATIONS_SECRET: credentials.notificationsSecret };
  return {};
}

/**
 * A variable that begins with a service's name (STORE_DATABASE_URL, IDENTITY_SECRET) reaches only that service. The database
 * owner's address reaches only migrations.
 * @param {NodeJS.ProcessEnv} env
 * @param {ServiceName} service
 */
function withoutOthers(env, service) {
  const others = NATS_USERS.filter((name) => name !== service).map((name) => `${name.toUpperCase()}_`);
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== ownerVariable(service) && !others.some((prefix) => name.startsWith(prefix))));
}

/**
 * Variables for one service under any name: IDENTITY_ENV_NODE_OPTIONS sets its NODE_OPTIONS.
 * @param {ServiceName} service
 * @param {NodeJS.ProcessEnv} env
 */
function onlyFor(service, env) {
  const prefix = `${service.toUpperCase()}_ENV_`;
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [])));
}
