import { randomUUID } from 'node:crypto';
import { actorOf } from '../audit-log.js';
import { CodedError, isTransient } from '../../errors.js';
import type { Logger } from '../../logging.js';
import type { Database } from '../../postgres/database.js';
import { Deadline, RpcContext } from '../../rpc/context.js';
import { BackgroundLoop, type LoopOptions } from '../../service/background-loop.js';
import { tracing } from '../../telemetry/tracing.js';
import { type Attempt, type IntentTable, leaseMsOf } from './intent-table.js';

/**
 * Something that two services do together for one resource, after the first has committed its intent. The members are the steps, in
 * order. Any replica may repeat a step. `ThisAttempt` is an attempt, with what the steps need to know.
 */
export interface Saga<ThisAttempt, Refusal> {
  /**
   * Calls the other service, which does its part or refuses. It must reject an attempt older than the latest that it has refused, with
   * `unavailable` (`assertNotAbandoned`).
   * @returns the refusal; undefined: the other service has done its part
   */
  readonly ask: (context: RpcContext, attempt: ThisAttempt) => Promise<Refusal | undefined>;
  /** Completes the intent here, in one transaction. @returns false if another attempt has completed it */
  readonly complete: (attempt: ThisAttempt) => Promise<boolean>;
  /** Withdraws the intent. @returns false, without an effect, if another attempt has taken over: it may be answered differently */
  readonly withdraw: (attempt: ThisAttempt) => Promise<boolean>;
  /** Returns the text of `outcome-unknown`. The saga continues in the background, and may end either way. */
  readonly unknown: (attempt: ThisAttempt) => string;
}

export interface SagaOutcome<Refusal> {
  /** This attempt completed the saga. */
  readonly completed: boolean;
  /** Why the other service refused. Absent although not completed: another attempt completed the saga. */
  readonly refusal?: Refusal;
}

const batch = 50;
/**
 * Time limit of the calls of a resumed intent, in milliseconds. Shorter than the shortest lease, so that another replica rarely takes
 * the intent meanwhile. It still may, since `complete` and `withdraw` have no limit. Then the numbers of the attempts prevent harm.
 */
const resumeMs = 4_000;
const maxAttempts = 3;
/** Error codes with which a service reports that it did nothing. */
const noEffectCodes = ['unavailable', 'overloaded'];

/**
 * Runs what follows the commit of an intent: in the request that committed it, and in a background loop if that request timed out,
 * its process stopped, or the other service was unavailable. An intent is a row; attempts are numbered under its lock, and the latest
 * decides. Its lease keeps the loop away while a request works on it, which only avoids double work. `UserDeletionsService` is an example;
 * docs/decisions/sagas.md has the reasons.
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
   * @throws CodedError `outcome-unknown` with the given text, in place of everything that `work` throws: the commit has happened
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
   * Runs a saga in the request that began it, until an attempt is decided.
   * @throws CodedError `unavailable` or `overloaded` if nothing happened and nothing will; `outcome-unknown` for any other failure
   */
  protected async execute<ThisAttempt extends Attempt<Key>, Refusal>(
    context: RpcContext,
    saga: Saga<ThisAttempt, Refusal>,
    first: ThisAttempt,
  ): Promise<SagaOutcome<Refusal>> {
    // The error of a withdrawn saga is returned and thrown here: `afterCommit` would turn it into `outcome-unknown`.
    const outcome = await this.afterCommit([first.key], saga.unknown(first), () => this.repeatUntilDecided(context, saga, first));
    if (outcome instanceof CodedError) throw outcome;
    return outcome;
  }

  /** Makes the attempt of an intent that the loop has leased. @throws what a step throws; the intent stays, for the loop's next try */
  protected async resumeAttempt<ThisAttempt, Refusal>(
    context: RpcContext,
    saga: Saga<ThisAttempt, Refusal>,
    attempt: ThisAttempt,
  ): Promise<SagaOutcome<Refusal>> {
    const outcome = await makeAttempt(context, saga, attempt);
    if (outcome instanceof CodedError) throw outcome;
    return outcome;
  }

  /**
   * Makes at most 3 attempts, until one is decided. An attempt that had no effect is repeated under a higher number, since the other
   * service rejects numbers below the last that it has refused.
   * @returns an error if the intent was withdrawn: nothing happened and nothing will
   * @throws what a step throws, and the last error without effect; the intent stays
   */
  private async repeatUntilDecided<ThisAttempt extends Attempt<Key>, Refusal>(
    context: RpcContext,
    saga: Saga<ThisAttempt, Refusal>,
    first: ThisAttempt,
  ): Promise<SagaOutcome<Refusal> | CodedError> {
    let attempt = first;
    for (let tries = 1; ; tries++) {
      const outcome = await makeAttempt(context, saga, attempt);
      if (!(outcome instanceof CodedError)) return outcome;
      // Only this attempt had no effect. An earlier one may have had, and a later one may have taken over; both continue.
      if (attempt.isFirst && (await saga.withdraw(attempt))) return outcome;
      if (tries === maxAttempts) throw outcome;
      const { key } = attempt;
      // Not a new request: an actor that was recorded since stays.
      const next = await this.database.transaction((tx) =>
        this.intents.begin(tx, key, actorOf(context), leaseMsOf(context), { replacesRequester: false }),
      );
      if (!next) return { completed: false };
      attempt = { ...attempt, ...next };
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

/**
 * Runs the steps of one attempt.
 * @returns an error if the other service did nothing
 * @throws what a step throws otherwise: the attempt may have had an effect
 */
async function makeAttempt<ThisAttempt, Refusal>(
  context: RpcContext,
  saga: Saga<ThisAttempt, Refusal>,
  attempt: ThisAttempt,
): Promise<SagaOutcome<Refusal> | CodedError> {
  let refusal: Refusal | undefined;
  try {
    refusal = await saga.ask(context, attempt);
  } catch (error) {
    if (error instanceof CodedError && noEffectCodes.includes(error.code)) return error;
    throw error;
  }
  if (refusal === undefined) return { completed: await saga.complete(attempt) };
  await saga.withdraw(attempt);
  return { completed: false, refusal };
}
