import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { databaseSetting } from './config.js';
import { catalogDatabase } from './database.js';

await migrate('catalog', catalogDatabase(configOrExit(databaseSetting).databaseUrl, 2));
