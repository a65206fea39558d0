import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { faultsOf, identitySettings } from './config.js';
import { startIdentity } from './identity.module.js';

const config = configOrExit(identitySettings, faultsOf);
await startIdentity(await Service.start('identity', config), config);
