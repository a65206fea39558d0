import type { INestMicroservice } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import { ApplicationConfig, DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { operationOf } from './answers.decorator.js';
import type { RpcContext } from './context.js';
import type { Operation } from './operation.js';

/** An operation and the function that carries it out. */
export interface OperationHandler {
  readonly operation: Operation<unknown, unknown>;
  /** Gets a validated payload. Returns the answer, or a promise of it. */
  readonly handle: (payload: object, context: RpcContext) => unknown;
}

type Method = (payload: object, context: RpcContext) => unknown;

/**
 * Returns the methods of an app's controllers that answer operations. The transport calls them directly, which spares six promises and an
 * observable per call. Nest's guards, pipes, interceptors and exception filters would not run, so an app must not have any.
 * @throws Error if it has one, or a controller that Nest would create per call
 */
export function operationHandlersOf(app: INestMicroservice): OperationHandler[] {
  refuse('The app', globalsOf(app));
  const scanner = new MetadataScanner();
  const controllers = new DiscoveryService(app.get(ModulesContainer)).getControllers();
  return controllers.flatMap((wrapper) => {
    const instance = wrapper.instance as Record<string, Method>;
    return scanner.getAllMethodNames(instance).flatMap((name): OperationHandler[] => {
      const method = instance[name];
      const operation = method && operationOf(method);
      if (!operation) return [];
      const place = `${wrapper.name}.${name}`;
      if (!wrapper.isDependencyTreeStatic()) throw new Error(`${place} must be of a controller with one instance`);
      refuse(place, enhancersOf(instance.constructor, name, method));
      return [{ operation, handle: method.bind(instance) }];
    });
  });
}

function refuse(place: string, found: readonly string[]): void {
  if (found.length > 0) throw new Error(`${place} has ${found.join(', ')}, which would not run for operations`);
}

/** Returns the kinds of global enhancers that an app has, including those that its modules provide. */
function globalsOf(app: INestMicroservice): string[] {
  // Nest has no public way to read it.
  const config: unknown = Reflect.get(app, 'applicationConfig');
  if (!(config instanceof ApplicationConfig)) throw new Error('the configuration of the Nest app was not found');
  return namesOf({
    'global guards': [...config.getGlobalGuards(), ...config.getGlobalRequestGuards()],
    'global pipes': [...config.getGlobalPipes(), ...config.getGlobalRequestPipes()],
    'global interceptors': [...config.getGlobalInterceptors(), ...config.getGlobalRequestInterceptors()],
    'global exception filters': [...config.getGlobalFilters(), ...config.getGlobalRequestFilters()],
    'global hooks': config.getGlobalPreRequestHooks(),
  });
}

/** Returns the kinds of enhancers of a controller's class, method and parameters. */
function enhancersOf(type: object, name: string, method: object): string[] {
  const listOf = (key: string): unknown[] => [type, method].flatMap((target) => (Reflect.getMetadata(key, target) as unknown[] | undefined) ?? []);
  return namesOf({
    guards: listOf(GUARDS_METADATA),
    pipes: listOf(PIPES_METADATA),
    interceptors: listOf(INTERCEPTORS_METADATA),
    'exception filters': listOf(EXCEPTION_FILTERS_METADATA),
    'parameter decorators': Object.keys((Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name) as object | undefined) ?? {}),
  });
}

const namesOf = (kinds: Readonly<Record<string, readonly unknown[]>>): string[] =>
  Object.entries(kinds).filter(([, some]) => some.length > 0).map(([kind]) => kind);
