import { NoPayload, type Operation, operationsOf } from '../rpc/operation.js';
import type { ReadinessReport } from './readiness.js';

/** Returns the operation `readiness`, which every service offers so that the gateway can report which one is not ready. */
export const readinessOf = (service: string): Operation<NoPayload, ReadinessReport> =>
  operationsOf(service).read<ReadinessReport>()('readiness', NoPayload);
