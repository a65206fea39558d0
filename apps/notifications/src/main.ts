import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { notificationsSettings } from './config.js';
import { mailFaults } from './mail/settings.js';
import { startNotifications } from './notifications.module.js';

const config = configOrExit(notificationsSettings, mailFaults);
await startNotifications(await Service.start('notifications', config), config);
