import { unavailable } from '../errors.js';
import type { RpcContext } from '../rpc/context.js';

/**
 * The other service's half of a refusal (`Saga.ask`): call it with the resource locked, before deciding, and record the number of each
 * attempt that is refused. An abandoned attempt must not take effect once the reason for the refusal is gone.
 * @param refused the latest attempt that was refused
 * @throws CodedError `unavailable` when the caller no longer waits for this attempt, or a later one was refused
 */
export function assertCurrentAttempt(service: string, { deadline }: RpcContext, attempt: number, refused: number): void {
  if (deadline.isPast || attempt < refused) throw unavailable(service);
}
