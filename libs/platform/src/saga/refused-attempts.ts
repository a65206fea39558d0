import { CodedError } from '../errors.js';
import type { RpcContext } from '../rpc/context.js';

/**
 * Rejects abandoned attempts, in the service that may refuse (`Saga.ask`): an attempt that its caller no longer waits for must not take
 * effect once the reason for the refusal is gone. Call it with the resource locked, before deciding, and record the number of each
 * attempt that is refused.
 * @param latestRefused number of the latest attempt that was refused; 0: none
 * @throws CodedError `unavailable` when the attempt's deadline has passed, or it is older than the latest that was refused
 */
export function assertNotAbandoned({ deadline }: RpcContext, attempt: number, latestRefused: number): void {
  if (deadline.isPast) throw new CodedError('unavailable', 'The caller no longer waits for this attempt. Nothing happened; try again.');
  if (attempt < latestRefused) throw new CodedError('unavailable', 'A later attempt was refused. Nothing happened; try again.');
}
