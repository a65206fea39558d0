import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { migrationSettings } from './config.js';
import { storeDatabase } from './database.js';

const { databaseUrl, databaseCa, ownerUrl } = configOrExit(migrationSettings);
await migrate('store', { ...storeDatabase(databaseUrl, 2), ca: databaseCa }, ownerUrl);
