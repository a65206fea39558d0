import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { storeSettings } from './config.js';
import { startStore } from './start.js';

const config = configOrExit(storeSettings);
await startStore(await Service.start('store', config), config);
