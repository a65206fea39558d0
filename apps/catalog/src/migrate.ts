import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { catalogDatabase, migrationSettings } from './config.js';

const config = configOrExit(migrationSettings);
await migrate('catalog', catalogDatabase(config, 2), config.ownerUrl);
