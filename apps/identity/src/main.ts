import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { configErrors, identitySettings } from './config.js';
import { startIdentity } from './start.js';

const config = configOrExit(identitySettings, configErrors);
await startIdentity(await Service.start('identity', config), config);
