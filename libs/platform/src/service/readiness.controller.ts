import { Controller, type Type } from '@nestjs/common';
import { Answers } from '../rpc/answers.decorator.js';
import { readinessOf } from './readiness.contract.js';
import { Readiness, type ReadinessReport } from './readiness.js';

/** The controller that answers `<service>.readiness`. */
export function ReadinessController(service: string): Type {
  @Controller()
  class ServiceReadinessController {
    constructor(private readonly readiness: Readiness) {}

    @Answers(readinessOf(service))
    report(): Promise<ReadinessReport> {
      return this.readiness.report();
    }
  }
  return ServiceReadinessController;
}
