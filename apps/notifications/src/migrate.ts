import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { databaseSetting } from './config.js';
import { notificationsDatabase } from './database.js';

await migrate('notifications', notificationsDatabase(configOrExit(databaseSetting).databaseUrl, 1));
