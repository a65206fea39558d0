import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { GatewayConfig } from './config.js';

/** The gateway's own settings, without those that every service has. */
export type GatewayOptions = Omit<GatewayConfig, keyof ServiceConfig>;

export const GATEWAY_OPTIONS = Symbol('gateway options');
