import { configOrExit, Service } from '@plant-shop/platform/service/service';
import { gatewaySettings } from './config.js';
import { startGateway } from './start.js';

const config = configOrExit(gatewaySettings);
await startGateway(await Service.start('gateway', config), config);
