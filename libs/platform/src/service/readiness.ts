import { withoutCredentials } from '../redaction.js';

/** One thing a service cannot do without; throws or rejects while it is away. */
export type Check = () => Promise<void> | void;

export interface ReadinessReport {
  readonly ready: boolean;
  /** `ok`, or why not, for each check. */
  readonly checks: Readonly<Record<string, string>>;
}

/** Whether a process should get work now: every check passes and it is not shutting down. */
export class Readiness {
  private readonly checks = new Map<string, Check>();
  private readonly capacityChecks = new Map<string, Check>();
  private readonly limitMs: number;
  private draining = false;

  /** A check that takes longer than `limitMs` has failed. */
  constructor({ limitMs = 2_000 }: { readonly limitMs?: number } = {}) {
    this.limitMs = limitMs;
  }

  require(name: string, check: Check): void {
    this.checks.set(name, check);
  }

  /**
   * Whether there is room for more. A full process does its work, and only `/readyz` of its own operations port, which balancers ask, says that it
   * is not ready for more.
   */
  requireCapacity(name: string, check: Check): void {
    this.capacityChecks.set(name, check);
  }

  /** From now on not ready: the first phase of every shutdown. */
  drain(): void {
    this.draining = true;
  }

  /** @param includeCapacity asks whether it should get new clients, too */
  async report({ includeCapacity = false }: { readonly includeCapacity?: boolean } = {}): Promise<ReadinessReport> {
    const asked = [...this.checks, ...(includeCapacity ? this.capacityChecks : [])];
    const results = await Promise.all(asked.map(async ([name, check]) => [name, await this.outcome(check)] as const));
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

/** The cause says more to an operator than what callers are told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
