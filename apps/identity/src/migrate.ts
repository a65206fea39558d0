import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { databaseSetting } from './config.js';
import { identityDatabase } from './database.js';

await migrate('identity', identityDatabase(configOrExit(databaseSetting).databaseUrl, 2));
