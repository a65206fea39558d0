import { ApplicationConfig } from '@nestjs/core';

/**
 * Declared operations are plain routes (forwarded-operations.ts), so Nest's global guards, pipes and interceptors would not apply to
 * them. What must hold for every request belongs in `Routes`.
 * @throws Error if the app has one
 */
export function assertNoNestGlobals(app: object): void {
  // Nest has no public way to read it.
  const config: unknown = Reflect.get(app, 'config');
  if (!(config instanceof ApplicationConfig)) throw new Error('the configuration of the Nest app was not found');
  const globals = {
    guards: [...config.getGlobalGuards(), ...config.getGlobalRequestGuards()],
    pipes: [...config.getGlobalPipes(), ...config.getGlobalRequestPipes()],
    interceptors: [...config.getGlobalInterceptors(), ...config.getGlobalRequestInterceptors()],
  };
  const found = Object.entries(globals).filter(([, some]) => some.length > 0).map(([kind]) => kind);
  if (found.length > 0) throw new Error(`global ${found.join(', ')} of Nest would not apply to declared operations`);
}
