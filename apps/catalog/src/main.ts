import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { catalogSettings } from './config.js';
import { startCatalog } from './catalog.module.js';

const config = configOrExit(catalogSettings);
await startCatalog(await Service.start('catalog', config), config);
