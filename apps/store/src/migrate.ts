import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { databaseSetting } from './config.js';
import { storeDatabase } from './database.js';

await migrate('store', storeDatabase(configOrExit(databaseSetting).databaseUrl, 2));
