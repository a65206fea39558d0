import { Injectable } from '@nestjs/common';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { readinessOf } from '@plant-shop/platform/service/readiness.contract';
import { Readiness, type ReadinessReport } from '@plant-shop/platform/service/readiness';

export interface ShopReport {
  readonly ready: boolean;
  /** Per service: `ready`, or what keeps it. */
  readonly services: Readonly<Record<string, string>>;
}

const others = ['catalog', 'store', 'identity', 'notifications'] as const;
const budgetMs = 1_500;
/** Anybody may ask, and each answer costs a call to every service. */
const keepMs = 250;

/** Whether the shop as a whole is ready. Askers share one answer that is never older than a quarter of a second. */
@Injectable()
export class ShopReadiness {
  private asked: { readonly at: number; readonly report: Promise<ShopReport> } | undefined;

  constructor(
    private readonly rpc: RpcClient,
    private readonly own: Readiness,
    private readonly revocations: RevocationLog,
  ) {}

  report(): Promise<ShopReport> {
    const now = performance.now();
    if (!this.asked || now - this.asked.at > keepMs) this.asked = { at: now, report: this.askAll() };
    return this.asked.report;
  }

  private async askAll(): Promise<ShopReport> {
    const own = this.withRevocations(await this.own.report());
    const states = await Promise.all(others.map(async (service) => [service, await this.stateOf(service)] as const));
    const services = { gateway: own.ready ? 'ready' : faultsOf(own.checks), ...Object.fromEntries(states) };
    return { ready: Object.values(services).every((state) => state === 'ready'), services };
  }

  /**
   * Credentials are refused until the revocation log is followed (again), which comes a moment after identity answers. The
   * process's own readiness leaves that out: the catalogue needs no credentials, and would be gone with identity.
   */
  private withRevocations({ ready, checks }: ReadinessReport): ReadinessReport {
    const { isFresh } = this.revocations;
    return { ready: ready && isFresh, checks: { ...checks, revocations: isFresh ? 'ok' : 'not followed' } };
  }

  private async stateOf(service: string): Promise<string> {
    try {
      const context = new RpcContext('readiness', Deadline.in(budgetMs));
      const { ready, checks } = await this.rpc.call(readinessOf(service), {}, context);
      return ready ? 'ready' : faultsOf(checks);
    } catch {
      // Why a service does not answer is for its own log; here counts that it does not.
      return 'no answer';
    }
  }
}

/** Names only: the texts of checks may tell too much about the inside. */
const faultsOf = (checks: Readonly<Record<string, string>>): string =>
  `not ready: ${Object.entries(checks).flatMap(([name, state]) => (state === 'ok' ? [] : [name])).join(', ')}`;
