import { violationsOf, prepareLibrary } from '../library.js';
import { describeFault, type Fault } from '../plan.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { instancesOf, type ServiceName, type Stack } from '../stack.js';
import { busySeconds, type Goal, rowOf, openTrial } from './goal.js';

/** 2,000 orders in a run of ten minutes. */
const ordersPerSecond = 60;
const intervalMs = 3_000;

/** The guarantees of the shop hold for programs that use the client library, during all kinds of faults. */
const library: Goal = {
  what: 'the client library: orders placed once, events followed once',
  weight: 6,
  run: async (context): Promise<Row[]> => {
    const { testbed, random } = context;
    const seconds = busySeconds(context);
    const plan = inTurn(random.fork(), testbed.stack, seconds);
    for (const fault of plan) testbed.say(`  plan  ${describeFault(fault)}`);
    const trial = await openTrial(context, { receivers: 0, sockets: 0 });
    const use = await prepareLibrary(trial, { orders: Math.round(seconds * ordersPerSecond), perSecond: ordersPerSecond });
    const using = use();
    await trial.faults.carryOut(plan, using);
    const used = await using;
    const row = await rowOf('R15', library.what, trial, ({ final }) => violationsOf(used, final.orders));
    const consumers = used.consumers.map((one) => `${one.name}: ${one.events.length} events in ${one.lives} lives`).join(', ');
    return [{ ...row, tried: `${used.wanted} orders in ${used.calls} calls of the library (${used.errors} errors); ${consumers}; ${row.tried}` }];
  },
};

/** Faults of everything that programs depend on, in shuffled order; each takes a service as a whole. */
function inTurn(random: Random, stack: Stack, seconds: number): Fault[] {
  const all = (service: ServiceName): string[] => instancesOf(stack, service).map(({ label }) => label);
  const faults: Fault[] = [
    ...(['gateway', 'store', 'notifications', 'identity'] as const).map((service): Fault => ({ kind: 'kill', atMs: 0, targets: all(service) })),
    { kind: 'cut', atMs: 0, targets: all('identity'), from: 'nats', forMs: 2_000 },
    { kind: 'restart', atMs: 0, targets: ['postgres'] },
    { kind: 'restart', atMs: 0, targets: ['nats'] },
  ];
  const count = Math.max(1, Math.floor((seconds * 1_000) / intervalMs));
  const turns: Fault[] = [];
  while (turns.length < count) turns.push(...random.shuffle(faults));
  return turns.slice(0, count).map((fault, n) => ({ ...fault, atMs: 1_000 + n * intervalMs }));
}

export const libraryGoals: Readonly<Record<string, Goal>> = { R15: library };
