import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { migrationSettings } from './config.js';
import { catalogDatabase } from './database.js';

const { databaseUrl, databaseCa, ownerUrl } = configOrExit(migrationSettings);
await migrate('catalog', { ...catalogDatabase(databaseUrl, 2), ca: databaseCa }, ownerUrl);
