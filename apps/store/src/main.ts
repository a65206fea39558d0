import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { faultsOf, storeSettings } from './config.js';
import { startStore } from './store.module.js';

const config = configOrExit(storeSettings, faultsOf);
await startStore(await Service.start('store', config), config);
