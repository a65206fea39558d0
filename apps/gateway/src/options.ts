import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { GatewayConfig } from './config.js';

/** What the gateway's parts need of its settings. */
export type GatewayOptions = Omit<GatewayConfig, keyof ServiceConfig>;

export const GATEWAY_OPTIONS = Symbol('gateway options');
