import { CodedError } from '@plant-shop/platform/errors';
import { Replica, type Start, Victim } from './replica.js';
import { type Call, Run, type Strike } from './run.js';

/** A hundred executions and more, of processes that come up and die: like any limit here, it finds what hangs. */
export const crashLimitMs = 600_000;

/** Enough to learn in; and what a caller waits for an answer that may have been lost. */
const patient = 30_000;
const impatient = 1_500;

/** What whoever asked for it came to know. */
export type Outcome<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly code: string }
  /** The process was gone before it said anything. */
  | { readonly kind: 'silence' };

export interface UseCase<Given, Answer> {
  readonly name: string;
  /** Fewer calls than these mean that they are not counted rightly. */
  readonly atLeast: number;
  /** Something new to do it to, each time. */
  given(): Promise<Given>;
  /** What makes it due, once no other replica can be faster. */
  due?(given: Given): Promise<unknown>;
  when(victim: Victim, given: Given, withinMs: number): Promise<Answer>;
  /** What must hold as soon as the outcome is known, before anything goes on by itself. */
  before?(given: Given, outcome: Outcome<Answer>): Promise<void>;
  /** What must hold in the end, with replicas that go on; told also whether the client may ask again. */
  finally(given: Given, outcome: Outcome<Answer>): Promise<void>;
}

/** A service with a replica that suffers, always a new one, and one that goes on. */
export class Stage {
  private readonly victims = new Set<Victim>();
  private readonly leftovers: Promise<unknown>[] = [];

  private constructor(
    readonly survivor: Replica,
    private readonly startVictim: () => Promise<Victim>,
  ) {}

  static async of(name: string, natsUrl: string, start: Start): Promise<Stage> {
    return new Stage(await Replica.start(name, natsUrl, start), () => Victim.start(name, natsUrl, start));
  }

  async newVictim(): Promise<Victim> {
    const victim = await this.startVictim();
    this.victims.add(victim);
    return victim;
  }

  /** The process of the victim is gone; nobody waits for its memory to be cleared away. */
  bury(victim: Victim, run?: Run): void {
    this.victims.delete(victim);
    this.leftovers.push(victim.kill(run));
  }

  async stop(): Promise<void> {
    for (const victim of this.victims) this.bury(victim);
    await Promise.all([this.survivor.stop(), ...this.leftovers]);
  }
}

/**
 * Executes a use case once to learn which calls leave the process, then again and again: at each of them, once for each
 * thing that can become of it. The replica that suffers it does nothing by itself; afterwards another one goes on.
 * @returns how many calls there are, and how many executions that made
 */
export async function atEveryPoint<Given, Answer>(
  stage: Stage,
  useCase: UseCase<Given, Answer>,
): Promise<{ readonly points: number; readonly runs: number }> {
  const { survivor } = stage;
  // Another use case may have ended with a failure.
  survivor.resume();
  let victim: Victim | undefined;

  const execute = async (run: Run): Promise<void> => {
    const given = await useCase.given();
    victim ??= await warmed(stage, useCase);
    await survivor.pause();
    await useCase.due?.(given);
    const outcome = await outcomeOf(run, victim, useCase, given);
    if (run.isDead) {
      stage.bury(victim, run);
      victim = undefined;
    }
    await useCase.before?.(given, outcome);
    survivor.resume();
    await useCase.finally(given, outcome);
  };

  const calls = await learn(execute);
  if (calls.length < useCase.atLeast) {
    throw new Error(`${useCase.name} makes ${calls.length} calls, which cannot be all: ${calls.map(({ what }) => what).join(', ')}`);
  }
  let runs = 0;
  for (const strike of strikesOn(calls)) {
    const run = new Run(strike);
    const what = `${useCase.name}: call ${strike.at} of ${calls.length} (${calls[strike.at - 1]?.what ?? ''}) ${strike.fate}`;
    try {
      await execute(run);
    } catch (error) {
      throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
    }
    if (!run.isStruck) throw new Error(`${what}: that call was not made this time, but ${run.calls.map((call) => call.what).join(', ')}`);
    runs++;
  }
  if (victim) stage.bury(victim);
  process.stdout.write(`      ${useCase.name}: ${calls.length} crash points, ${runs} failures recovered from\n`);
  return { points: calls.length, runs };
}

/** The first execution of a process connects, prepares and draws ids for many to come. */
async function warmed<Given, Answer>(stage: Stage, useCase: UseCase<Given, Answer>): Promise<Victim> {
  const victim = await stage.newVictim();
  const given = await useCase.given();
  await stage.survivor.pause();
  await useCase.due?.(given);
  const answer = await new Run().within(() => useCase.when(victim, given, patient));
  stage.survivor.resume();
  await useCase.finally(given, { kind: 'answered', answer });
  return victim;
}

async function learn(execute: (run: Run) => Promise<void>): Promise<readonly Call[]> {
  const [first, second] = [new Run(), new Run()];
  await execute(first);
  await execute(second);
  const [before, after] = [first, second].map((run) => run.calls.map(({ what }) => what).join(', '));
  if (before !== after) throw new Error(`Two executions made other calls: ${before} / ${after}`);
  return second.calls;
}

function* strikesOn(calls: readonly Call[]): Generator<Strike> {
  // Those that a process survives first: it can go on with the next.
  for (const [n, { fates }] of calls.entries()) {
    for (const fate of fates) if (fate !== 'is the last') yield { at: n + 1, fate };
  }
  for (const [n, { fates }] of calls.entries()) {
    if (fates.includes('is the last')) yield { at: n + 1, fate: 'is the last' };
  }
}

async function outcomeOf<Given, Answer>(
  run: Run,
  victim: Victim,
  useCase: UseCase<Given, Answer>,
  given: Given,
): Promise<Outcome<Answer>> {
  const asked = run.within(() => useCase.when(victim, given, run.willBeStruck ? impatient : patient)).then(
    (answer): Outcome<Answer> => ({ kind: 'answered', answer }),
    (error: unknown): Outcome<Answer> => {
      if (error instanceof CodedError) return { kind: 'refused', code: error.code };
      throw error;
    },
  );
  const outcome = await Promise.race([asked, run.death.then((): Outcome<Answer> => ({ kind: 'silence' }))]);
  if (outcome.kind === 'silence') asked.catch(() => undefined);
  return outcome;
}
