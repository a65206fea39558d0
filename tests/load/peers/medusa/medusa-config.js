// As Medusa's guides recommend for production, without the administration's pages.
const { defineConfig } = require('@medusajs/framework/utils');

const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, MEDUSA_WORKER_MODE: workerMode } = process.env;
const provider = (name) => ({ id: name, resolve: `@medusajs/medusa/${name}`, is_default: true, options: { redisUrl } });

module.exports = defineConfig({
  projectConfig: {
    databaseUrl,
    databaseDriverOptions: { connection: { ssl: false } },
    redisUrl,
    workerMode: workerMode ?? 'shared',
    http: { storeCors: 'http://127.0.0.1', adminCors: 'http://127.0.0.1', authCors: 'http://127.0.0.1', jwtSecret: 'a secret of this measurement', cookieSecret: 'a secret of this measurement' },
  },
  admin: { disable: true },
  modules: [
    { resolve: '@medusajs/medusa/caching', options: { providers: [provider('caching-redis')] } },
    { resolve: '@medusajs/medusa/locking', options: { providers: [provider('locking-redis')] } },
    { resolve: '@medusajs/medusa/event-bus-redis', options: { redisUrl } },
    { resolve: '@medusajs/medusa/workflow-engine-redis', options: { redis: { redisUrl } } },
  ],
});
