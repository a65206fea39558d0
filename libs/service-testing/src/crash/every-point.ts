import { CodedError } from '@plant-shop/platform/errors';
import { CrashableReplica, Replica, type Start } from './replica.js';
import { type InjectedFault, type OutgoingCall, Run } from './run.js';

/** Timeout of a test with more than a hundred executions, which start and crash processes. It only has to catch hanging tests. */
export const crashTestTimeoutMs = 600_000;

/** Budget of a run without a fault. */
const normalBudgetMs = 30_000;
/** Budget of a run with a fault, whose answer may be lost: it is waited for until then. */
const faultBudgetMs = 1_500;

/** The outcome that the caller saw. */
export type Outcome<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly code: string }
  /** The process crashed before it answered. */
  | { readonly kind: 'silence' };

export interface UseCase<Given, Answer> {
  readonly name: string;
  /** Lower bound of the number of outgoing calls: fewer mean that not all calls are recorded. */
  readonly minCalls: number;
  /** Creates the preconditions of one execution. */
  given(): Promise<Given>;
  /** Makes the work due, for work that the survivor's background loops would otherwise do first. The survivor is paused by then. */
  makeDue?(given: Given): Promise<unknown>;
  /** Executes the use case on a replica. */
  when(replica: CrashableReplica, given: Given, withinMs: number): Promise<Answer>;
  /** Checks what must hold as soon as the outcome is known, before any background work resumes. */
  immediately?(given: Given, outcome: Outcome<Answer>): Promise<void>;
  /** Checks what must hold in the end, while the survivor runs. Depending on the outcome, it may repeat the request. */
  eventually(given: Given, outcome: Outcome<Answer>): Promise<void>;
}

/** A service with a surviving replica, and replicas that crash one after the other. */
export class CrashTestbed {
  private readonly replicas = new Set<CrashableReplica>();
  private readonly pendingStops: Promise<unknown>[] = [];

  private constructor(
    readonly survivor: Replica,
    private readonly startReplica: () => Promise<CrashableReplica>,
  ) {}

  static async start(name: string, natsUrl: string, start: Start): Promise<CrashTestbed> {
    return new CrashTestbed(await Replica.start(name, natsUrl, start), () => CrashableReplica.start(name, natsUrl, start));
  }

  async newReplica(): Promise<CrashableReplica> {
    const replica = await this.startReplica();
    this.replicas.add(replica);
    return replica;
  }

  /** Ends a replica abruptly, without waiting until its memory is freed. */
  discard(replica: CrashableReplica, run?: Run): void {
    this.replicas.delete(replica);
    this.pendingStops.push(replica.kill(run));
  }

  async stop(): Promise<void> {
    for (const replica of this.replicas) this.discard(replica);
    await Promise.all([this.survivor.stop(), ...this.pendingStops]);
  }
}

/**
 * Executes a use case once to record its outgoing calls, then once more for each call and each fault that can be injected into it.
 * Each time the surviving replica finishes what the faulty one left, and the use case's checks run.
 * @returns the number of outgoing calls, and the number of executions with a fault
 */
export async function atEveryPoint<Given, Answer>(
  testbed: CrashTestbed,
  useCase: UseCase<Given, Answer>,
): Promise<{ readonly points: number; readonly runs: number }> {
  const { survivor } = testbed;
  // A failed use case before this one may have left it paused.
  survivor.resume();
  let replica: CrashableReplica | undefined;

  const execute = async (run: Run, budgetMs = normalBudgetMs): Promise<Outcome<Answer>> => {
    const given = await useCase.given();
    replica ??= await warmedUp(testbed, useCase);
    await survivor.pause();
    await useCase.makeDue?.(given);
    const outcome = await outcomeOf(run, replica, useCase, given, budgetMs);
    if (run.hasCrashed) {
      testbed.discard(replica, run);
      replica = undefined;
    }
    await useCase.immediately?.(given, outcome);
    survivor.resume();
    await useCase.eventually(given, outcome);
    return outcome;
  };

  const calls = await recordCalls(execute);
  if (calls.length < useCase.minCalls) {
    throw new Error(`${useCase.name} makes only ${calls.length} calls, expected at least ${useCase.minCalls}: ${descriptionsOf(calls)}`);
  }
  let runs = 0;
  for (const injected of faultsIn(calls)) {
    const { at, fault } = injected;
    const point = `${useCase.name}: call ${at} of ${calls.length} (${calls[at - 1]?.description ?? ''}) ${fault}`;
    let run = new Run(injected);
    try {
      for (let budgetMs = faultBudgetMs; budgetMs < normalBudgetMs; budgetMs *= 4) {
        run = new Run(injected);
        const outcome = await execute(run, budgetMs);
        // A run that is refused before its fault has spent its budget on a busy machine, and proved nothing.
        if (run.wasInjected || outcome.kind !== 'refused') break;
      }
    } catch (error) {
      throw new Error(`${point}: ${(error as Error).message}`, { cause: error });
    }
    if (!run.wasInjected) throw new Error(`${point}: this run did not make that call, but ${descriptionsOf(run.calls)}`);
    runs++;
  }
  if (replica) testbed.discard(replica);
  process.stdout.write(`      ${useCase.name}: ${calls.length} crash points, ${runs} failures recovered from\n`);
  return { points: calls.length, runs };
}

/** Starts a replica and executes the use case once: only the first execution connects, prepares statements and draws a block of ids. */
async function warmedUp<Given, Answer>(testbed: CrashTestbed, useCase: UseCase<Given, Answer>): Promise<CrashableReplica> {
  const replica = await testbed.newReplica();
  const given = await useCase.given();
  await testbed.survivor.pause();
  await useCase.makeDue?.(given);
  const answer = await new Run().within(() => useCase.when(replica, given, normalBudgetMs));
  testbed.survivor.resume();
  await useCase.eventually(given, { kind: 'answered', answer });
  return replica;
}

async function recordCalls(execute: (run: Run) => Promise<unknown>): Promise<readonly OutgoingCall[]> {
  const [first, second] = [new Run(), new Run()];
  await execute(first);
  await execute(second);
  const [before, after] = [first, second].map((run) => descriptionsOf(run.calls));
  if (before !== after) throw new Error(`Two executions made different calls: ${before} / ${after}`);
  return second.calls;
}

const descriptionsOf = (calls: readonly OutgoingCall[]): string => calls.map(({ description }) => description).join(', ');

function* faultsIn(calls: readonly OutgoingCall[]): Generator<InjectedFault> {
  // Crashes come last: after any other fault the replica can be used again.
  for (const [n, { faults }] of calls.entries()) {
    for (const fault of faults) if (fault !== 'crashes the process') yield { at: n + 1, fault };
  }
  for (const [n, { faults }] of calls.entries()) {
    if (faults.includes('crashes the process')) yield { at: n + 1, fault: 'crashes the process' };
  }
}

async function outcomeOf<Given, Answer>(
  run: Run,
  replica: CrashableReplica,
  useCase: UseCase<Given, Answer>,
  given: Given,
  budgetMs: number,
): Promise<Outcome<Answer>> {
  const answered = run.within(() => useCase.when(replica, given, budgetMs)).then(
    (answer): Outcome<Answer> => ({ kind: 'answered', answer }),
    (error: unknown): Outcome<Answer> => {
      if (error instanceof CodedError) return { kind: 'refused', code: error.code };
      throw error;
    },
  );
  const outcome = await Promise.race([answered, run.crashed.then((): Outcome<Answer> => ({ kind: 'silence' }))]);
  if (outcome.kind === 'silence') answered.catch(() => undefined);
  return outcome;
}
