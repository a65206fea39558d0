import { type Fault, Run } from './run.js';

// The parts of undici's dispatcher that are used here. This package does not depend on undici.
interface Handler {
  onRequestStart?(controller: unknown, context: unknown): void;
  onResponseStart?(controller: unknown, status: number, headers: unknown, message?: string): void;
  onResponseData?(controller: unknown, chunk: unknown): void;
  onResponseEnd?(controller: unknown, trailers: unknown): void;
  onResponseError?(controller: unknown, error: Error): void;
}
interface Dispatcher {
  dispatch(options: object, handler: Handler): boolean;
}

const faults: readonly Fault[] = ['fails', 'loses its answer', 'is never answered', 'crashes the process'];

/**
 * Injects faults into all HTTP requests of a class of dispatchers.
 * @returns a function that restores the class
 */
export function injectHttpFaults(dispatchers: { readonly prototype: Dispatcher }): () => void {
  const { prototype } = dispatchers;
  const original = Object.getOwnPropertyDescriptor(prototype, 'dispatch');
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own dispatcher below
  const { dispatch } = prototype;
  prototype.dispatch = function (this: Dispatcher, options, handler) {
    const run = Run.current;
    if (!run) return dispatch.call(this, options, handler);
    if (run.hasCrashed) return true;
    const fault = run.faultFor({ description: 'POST', faults });
    if (fault === undefined) return dispatch.call(this, options, handler);
    if (fault === 'fails') {
      setImmediate(() => handler.onResponseError?.(undefined, Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })));
      return true;
    }
    return dispatch.call(this, options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: (controller) => {
        if (fault === 'crashes the process') run.crash();
        if (fault !== 'loses its answer') return;
        handler.onResponseError?.(controller, Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      },
      onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
    });
  };
  return () => {
    if (original) Object.defineProperty(prototype, 'dispatch', original);
    else Reflect.deleteProperty(prototype, 'dispatch');
  };
}
