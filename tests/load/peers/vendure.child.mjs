// Vendure's server, its worker, or the filling of its database. Runs in the folder where Vendure is installed.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const load = createRequire(join(process.cwd(), 'package.json'));
const vendure = load('@vendure/core');
const { populate } = load('@vendure/core/cli');

const [mode = ''] = process.argv.slice(2);
/** @type {{ port: number, databaseUrl: string, redis: object, csv: string, customers: number }} */
const { port, databaseUrl, redis, csv, customers } = JSON.parse(process.env['PEER'] ?? '{}');
const isSeed = mode === 'seed';

const config = {
  apiOptions: { port, hostname: '127.0.0.1', cors: false },
  authOptions: { tokenMethod: 'bearer', superadminCredentials: { identifier: 'superadmin', password: 'a long enough password' } },
  dbConnectionOptions: { type: 'postgres', url: databaseUrl, synchronize: isSeed, logging: false },
  paymentOptions: { paymentMethodHandlers: [vendure.dummyPaymentHandler] },
  logger: new vendure.DefaultLogger({ level: vendure.LogLevel.Warn }),
  // As its guides recommend for production. Assets, search and mail, which also cost CPU, are left out.
  plugins: [vendure.DefaultJobQueuePlugin.init({}), vendure.DefaultSchedulerPlugin.init({}), vendure.RedisCachePlugin.init({ redisOptions: redis })],
};

const initialData = {
  defaultLanguage: 'en',
  defaultZone: 'Europe',
  countries: [{ name: 'Germany', code: 'DE', zone: 'Europe' }],
  taxRates: [{ name: 'Standard Tax', percentage: 20 }],
  shippingMethods: [{ name: 'Standard', price: 500 }],
  paymentMethods: [{ name: 'Dummy', handler: { code: 'dummy-payment-handler', arguments: [{ name: 'automaticSettle', value: 'true' }] } }],
  collections: [],
};

if (mode === 'server') {
  await vendure.bootstrap(config);
} else if (mode === 'worker') {
  await (await vendure.bootstrapWorker(config)).startJobQueue();
} else if (isSeed) {
  const app = await populate(() => vendure.bootstrap(config), initialData, csv);
  const context = await app.get(vendure.RequestContextService).create({ apiType: 'admin' });
  for (let n = 0; n < customers; n++) {
    const made = await app.get(vendure.CustomerService).create(context, { emailAddress: `customer-${n}@example.com`, firstName: 'Ada', lastName: `${n}` }, 'a long enough password');
    if (!('id' in made)) throw new Error(`Vendure made no customer: ${made.message}`);
  }
  await app.close();
  process.exit(0);
}
