import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { migrationSettings } from './config.js';
import { storeDatabase } from './database.js';

const config = configOrExit(migrationSettings);
await migrate('store', storeDatabase(config, 2), config.ownerUrl);
