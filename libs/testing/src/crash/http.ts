import { type Fate, Run } from './run.js';

// The parts of undici's dispatcher that matter here, which this package does not depend on.
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

const fates: readonly Fate[] = ['fails', 'loses its answer', 'is never answered', 'is the last'];

/**
 * All that is sent over HTTP by a class of dispatchers, in the hands of a test.
 * @returns puts it back
 */
export function troubleHttp(dispatchers: { readonly prototype: Dispatcher }): () => void {
  const { prototype } = dispatchers;
  const original = Object.getOwnPropertyDescriptor(prototype, 'dispatch');
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the dispatcher it was called on
  const { dispatch } = prototype;
  prototype.dispatch = function (this: Dispatcher, options, handler) {
    const run = Run.current;
    if (!run) return dispatch.call(this, options, handler);
    if (run.isDead) return true;
    const fate = run.meet({ what: 'POST', fates });
    if (fate === undefined) return dispatch.call(this, options, handler);
    if (fate === 'fails') {
      setImmediate(() => handler.onResponseError?.(undefined, Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })));
      return true;
    }
    return dispatch.call(this, options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: (controller) => {
        if (fate === 'is the last') run.end();
        if (fate !== 'loses its answer') return;
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
