import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { migrationSettings } from './config.js';
import { notificationsDatabase } from './database.js';

const { databaseUrl, databaseCa, ownerUrl } = configOrExit(migrationSettings);
await migrate('notifications', { ...notificationsDatabase(databaseUrl, 1), ca: databaseCa }, ownerUrl);
