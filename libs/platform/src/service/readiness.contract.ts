import { NoPayload, type Operation, operationsOf } from '../rpc/operation.js';
import type { ReadinessReport } from './readiness.js';

/** Answered by every service, so that the gateway can say which one is away. */
export const readinessOf = (service: string): Operation<NoPayload, ReadinessReport> =>
  operationsOf(service).read<ReadinessReport>()('readiness', NoPayload);
