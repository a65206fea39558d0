import { randomUUID } from 'node:crypto';
import { actorOf } from '../audit/audit-log.js';
import { CodedError, isTransient } from '../errors.js';
import type { Logger } from '../logging.js';
import type { Database } from '../postgres/database.js';
import { RpcContext } from '../rpc/context.js';
import { Deadline } from '../rpc/deadline.js';
import { BackgroundLoop, type LoopOptions } from '../service/background-loop.js';
import { tracing } from '../telemetry/tracing.js';
import { type Attempt, type IntentTable, leaseMsOf } from './intent-table.js';

/**
 * Something that two services do together for one resource, after the first has committed its intent. The members are the steps, in
 * order. Any replica may repeat a step.
 */
export interface Saga<Asked, Refusal> {
  /**
   * Calls the other service, which does its part or refuses. It must refuse an attempt older than one that it has refused, with
   * `unavailable`.
   * @returns the refusal; undefined: the other service has done its part
   */
  readonly ask: (context: RpcContext, asked: Asked) => Promise<Refusal | undefined>;
  /** Completes the intent here, in one transaction. @returns false if another attempt has completed it */
  readonly complete: (asked: Asked) => Promise<boolean>;
  /** Withdraws the intent. @returns false, without an effect, if another attempt has taken over: it may be answered differently */
  readonly withdraw: (asked: Asked) => Promise<boolean>;
  /** Tells the caller that the saga continues in the background. */
  readonly unknown: (asked: Asked) => string;
}

/** Neither completed nor refused: another attempt completed the saga. */
export interface SagaOutcome<Refusal> {
  readonly completed: boolean;
  readonly refusal?: Refusal;
}

const batch = 50;
/** Time limit of a resumed intent. Shorter than the shortest lease, so that no replica takes an intent that is still in progress. */
const resumeMs = 4_000;
const maxAttempts = 3;
/** Error codes with which a service reports that it did nothing. */
const noEffectCodes = ['unavailable', 'overloaded'];

/**
 * Runs what follows the commit of an intent: in the request that committed it, and in a background loop if that request timed out,
 * its process stopped, or the other service was unavailable. docs/decisions/sagas.md has the reasons.
 */
export abstract class SagaRunner<Key extends string | number, Intent extends object> extends BackgroundLoop {
  constructor(
    protected readonly database: Database,
    private readonly intents: IntentTable<Key, Intent>,
    options: LoopOptions,
    logger: Logger,
  ) {
    super(options, () => this.resumeDue(), logger);
  }

  /** Runs the pending steps of an intent that the background loop has leased. */
  protected abstract resume(context: RpcContext, intent: Intent): Promise<unknown>;

  /**
   * Resumes one batch of due intents.
   * @returns whether to continue without a pause: after a full batch without failures. A failing service would otherwise cause a busy
   * loop
   */
  async resumeDue(): Promise<boolean> {
    const taken = await this.intents.leaseDue(this.database, batch);
    if (taken.length === 0) return false;
    tracing?.causedBy([]);
    const results = await Promise.allSettled(taken.map((intent) => this.resume(resumedContext(), intent)));
    const failed = results.filter((result) => result.status === 'rejected');
    const err: unknown = failed[0]?.reason;
    this.logger.info({ taken: taken.length, failed: failed.length, ...(err !== undefined && { err }) }, this.options.name);
    return taken.length === batch && failed.length === 0;
  }

  /**
   * Runs the calls of a request after its commit. If they fail, releases the leases, so that the loop continues.
   * @throws CodedError `outcome-unknown` with the given text for any failure: the commit has happened
   */
  async afterCommit<T>(keys: readonly Key[], text: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const fields = { err: cause, keys: keys.slice(0, 10) };
      this.logger[isTransient(cause) ? 'warn' : 'error'](fields, `${this.options.name}: call failed, will retry`);
      await this.release(keys);
      throw new CodedError('outcome-unknown', text, {}, { cause });
    }
  }

  /**
   * Runs a saga in the request that began it.
   * @throws CodedError `unavailable` or `overloaded` if nothing happened and nothing will; `outcome-unknown` for any other failure
   */
  protected async execute<Asked extends Attempt<Key>, Refusal>(
    context: RpcContext,
    saga: Saga<Asked, Refusal>,
    first: Asked,
  ): Promise<SagaOutcome<Refusal>> {
    const outcome = await this.afterCommit([first.key], saga.unknown(first), () => this.decide(context, saga, first));
    if (outcome instanceof CodedError) throw outcome;
    return outcome;
  }

  /** Makes one attempt. @throws what the other service or the database throws; the intent stays */
  protected async attempt<Asked, Refusal>(context: RpcContext, saga: Saga<Asked, Refusal>, asked: Asked): Promise<SagaOutcome<Refusal>> {
    const outcome = await attemptOnce(context, saga, asked);
    if (outcome instanceof CodedError) throw outcome;
    return outcome;
  }

  /**
   * Makes attempts until one is decided. An attempt that had no effect is repeated with a new number: the other service refuses one
   * that is older than one it has refused, and the answer to the newer attempt belongs to another request.
   * @returns an error if nothing happened and nothing will
   */
  private async decide<Asked extends Attempt<Key>, Refusal>(
    context: RpcContext,
    saga: Saga<Asked, Refusal>,
    first: Asked,
  ): Promise<SagaOutcome<Refusal> | CodedError> {
    let asked = first;
    for (let tries = 1; ; tries++) {
      const outcome = await attemptOnce(context, saga, asked);
      if (!(outcome instanceof CodedError)) return outcome;
      // Only this attempt had no effect. An earlier one may have had, and a later one may have taken over; both continue.
      if (asked.isFirst && (await saga.withdraw(asked))) return outcome;
      if (tries === maxAttempts) throw outcome;
      const { key } = asked;
      const next = await this.database.transaction((tx) => this.intents.begin(tx, key, actorOf(context), leaseMsOf(context)));
      if (!next) return { completed: false };
      asked = { ...asked, ...next };
    }
  }

  /** Releases leases. They expire anyway, so a failure only delays the retry. */
  private async release(keys: readonly Key[]): Promise<void> {
    try {
      await this.database.transaction((tx) => this.intents.release(tx, keys));
    } catch (error) {
      this.logger.warn({ err: error }, `${this.options.name}: leases not released`);
    }
  }
}

const resumedContext = (): RpcContext => new RpcContext(randomUUID(), Deadline.in(resumeMs), undefined, tracing?.active?.traceparent);

/** @returns the error of the other service if it did nothing */
async function attemptOnce<Asked, Refusal>(
  context: RpcContext,
  saga: Saga<Asked, Refusal>,
  asked: Asked,
): Promise<SagaOutcome<Refusal> | CodedError> {
  let refusal: Refusal | undefined;
  try {
    refusal = await saga.ask(context, asked);
  } catch (error) {
    if (error instanceof CodedError && noEffectCodes.includes(error.code)) return error;
    throw error;
  }
  if (refusal === undefined) return { completed: await saga.complete(asked) };
  await saga.withdraw(asked);
  return { completed: false, refusal };
}
