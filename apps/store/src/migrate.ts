import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { migrationSettings, storeDatabase } from './config.js';

const config = configOrExit(migrationSettings);
await migrate('store', storeDatabase(config, 2), config.ownerUrl);
