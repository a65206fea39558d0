import { type DynamicModule, Inject, Module, type Provider, type Type } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Logger } from '../logging.js';
import { Nats } from '../nats.js';
import { Database } from '../postgres/database.js';
import { RpcClient } from '../rpc/client.js';
import { Readiness, ReadinessController } from './readiness.js';

const LOGGER = Symbol('logger');

/** Injects the service's logger (an interface has no class to inject by). */
export const InjectLogger = (): ParameterDecorator & PropertyDecorator => Inject(LOGGER);

interface Infrastructure {
  readonly name: string;
  readonly logger: Logger;
  readonly nats: Nats;
  readonly rpc: RpcClient;
  readonly metrics: Registry;
  readonly readiness: Readiness;
  readonly database: Database | undefined;
}

@Module({})
class InfrastructureModule {}

/**
 * Wraps the app's module so that the service's infrastructure can be injected everywhere in it, by class.
 * @param filter the exception filter of last resort (`APP_FILTER`): Nest asks filters of the app's modules first
 */
export function infrastructureModule(app: Type | DynamicModule, parts: Infrastructure, filter?: Provider): DynamicModule {
  const shared = [
    { provide: LOGGER, useValue: parts.logger },
    { provide: Nats, useValue: parts.nats },
    { provide: RpcClient, useValue: parts.rpc },
    { provide: Registry, useValue: parts.metrics },
    { provide: Readiness, useValue: parts.readiness },
    ...(parts.database ? [{ provide: Database, useValue: parts.database }] : []),
  ];
  return {
    module: InfrastructureModule,
    global: true,
    imports: [app],
    controllers: [ReadinessController(parts.name)],
    providers: [...shared, ...(filter ? [filter] : [])],
    exports: shared.map((one) => one.provide),
  };
}
