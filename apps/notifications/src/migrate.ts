import { migrate } from '@plant-shop/platform/service/migrate';
import { configOrExit } from '@plant-shop/platform/service/service';
import { migrationSettings } from './config.js';
import { notificationsDatabase } from './database.js';

const config = configOrExit(migrationSettings);
await migrate('notifications', notificationsDatabase(config, 1), config.ownerUrl);
