import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { notificationsSettings } from './config.js';
import { startNotifications } from './notifications.module.js';

const config = configOrExit(notificationsSettings);
await startNotifications(await Service.start('notifications', config), config);
