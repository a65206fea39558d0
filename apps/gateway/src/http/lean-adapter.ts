import { FastifyAdapter } from '@nestjs/platform-fastify';

/**
 * Nest's adapter without the seven hooks that its constructor adds to every request, a tenth of the cost of an order. They serve features
 * of Nest that the gateway does not use; the methods that switch those on throw.
 */
export class LeanAdapter extends FastifyAdapter {
  /** Nest's constructor calls this before it adds its hooks. */
  override setInstance(instance: unknown): void {
    super.setInstance(Object.create(instance as object, { addHook: { value: () => instance } }));
  }

  /** Call once, after construction. */
  permitHooks(): void {
    super.setInstance(Object.getPrototypeOf(this.instance));
  }

  override setOnRequestHook(): void {
    throw leftOut();
  }
  override setOnResponseHook(): void {
    throw leftOut();
  }
  override enableCors(): void {
    throw leftOut();
  }
  /** Security headers and CSRF protection. */
  override registerSecurityHook(): void {
    throw leftOut();
  }
}

const leftOut = (): Error => new Error("the hook of this feature is left out: add it to Fastify's instance");
