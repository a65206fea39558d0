import { Controller, type Type } from '@nestjs/common';
import { withoutCredentials } from '../redaction.js';
import { Answers } from '../rpc/answers.decorator.js';
import { NoPayload, type Operation, operationsOf } from '../rpc/operation.js';

/** Returns the operation `readiness`, which every service offers so that the gateway can report which one is not ready. */
export const readinessOf = (service: string): Operation<NoPayload, ReadinessReport> =>
  operationsOf(service).read<ReadinessReport>()('readiness', NoPayload);

/** A check of something that a service needs. Throws or rejects while it is unavailable. */
export type Check = () => Promise<void> | void;

export interface ReadinessReport {
  readonly ready: boolean;
  /** For each check `ok`, or the reason why it fails. */
  readonly checks: Readonly<Record<string, string>>;
}

/** The readiness of a process for work: it is ready while every check passes and it is not shutting down. */
export class Readiness {
  private readonly checks = new Map<string, Check>();
  private readonly capacityChecks = new Map<string, Check>();
  private readonly limitMs: number;
  private draining = false;

  /** @param limitMs time after which a check counts as failed */
  constructor({ limitMs = 2_000 }: { readonly limitMs?: number } = {}) {
    this.limitMs = limitMs;
  }

  require(name: string, check: Check): void {
    this.checks.set(name, check);
  }

  /**
   * Adds a check of the capacity for more clients. A process without capacity still does its work; only `/readyz` of its operations
   * port, which load balancers poll, reports it as not ready.
   */
  requireCapacity(name: string, check: Check): void {
    this.capacityChecks.set(name, check);
  }

  /** Makes the process not ready for good: the first phase of every shutdown. */
  drain(): void {
    this.draining = true;
  }

  /** @param includeCapacity whether to include the checks of `requireCapacity` */
  async report({ includeCapacity = false }: { readonly includeCapacity?: boolean } = {}): Promise<ReadinessReport> {
    const included = [...this.checks, ...(includeCapacity ? this.capacityChecks : [])];
    const results = await Promise.all(included.map(async ([name, check]) => [name, await this.outcome(check)] as const));
    const checks = { ...Object.fromEntries(results), ...(this.draining && { shutdown: 'draining' }) };
    return { ready: Object.values(checks).every((one) => one === 'ok'), checks };
  }

  private async outcome(check: Check): Promise<string> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${this.limitMs} ms`)), this.limitMs);
    });
    try {
      await Promise.race([check(), limit]);
      return 'ok';
    } catch (error) {
      return withoutCredentials(reasonOf(error));
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Returns the message of the cause, which tells an operator more than the message for callers. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

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
