import { faultsOf, prepareLibrary } from '../library.js';
import { describeFault, type Fault } from '../plan.js';
import type { Random } from '../random.js';
import type { Row } from '../report.js';
import { instancesOf, type ServiceName, type Stack } from '../stack.js';
import { busySeconds, type Goal, judged, openArena } from './goal.js';

/** 2,000 orders in a run of ten minutes. */
const ordersPerSecond = 60;
const restMs = 3_000;

/** What the shop promises its clients holds for programs that use the client library, whatever breaks. */
const library: Goal = {
  what: 'the client library: orders placed once, events followed once',
  weight: 6,
  run: async (trial): Promise<Row[]> => {
    const { ground, random } = trial;
    const seconds = busySeconds(trial);
    const plan = inTurn(random.fork(), ground.stack, seconds);
    for (const fault of plan) ground.say(`  plan  ${describeFault(fault)}`);
    const arena = await openArena(trial, { receivers: 0, sockets: 0 });
    const use = await prepareLibrary(arena, { orders: Math.round(seconds * ordersPerSecond), perSecond: ordersPerSecond });
    const using = use();
    await arena.faults.carryOut(plan, using);
    const used = await using;
    const row = await judged('R15', library.what, arena, ({ final }) => faultsOf(used, final.orders));
    const consumers = used.consumers.map((one) => `${one.events.length} events in ${one.lives} lives`).join(' and ');
    return [{ ...row, tried: `${used.wanted} orders in ${used.calls} calls of the library (${used.errors} errors); ${consumers}; ${row.tried}` }];
  },
};

/** Everything that programs depend on, one after the other, in a shuffled order: each service as a whole. */
function inTurn(random: Random, stack: Stack, seconds: number): Fault[] {
  const all = (service: ServiceName): string[] => instancesOf(stack, service).map(({ label }) => label);
  const faults: Fault[] = [
    ...(['gateway', 'store', 'notifications', 'identity'] as const).map((service): Fault => ({ kind: 'kill', atMs: 0, targets: all(service) })),
    { kind: 'cut', atMs: 0, targets: all('identity'), from: 'nats', forMs: 2_000 },
    { kind: 'restart', atMs: 0, targets: ['postgres'] },
    { kind: 'restart', atMs: 0, targets: ['nats'] },
  ];
  const count = Math.max(1, Math.floor((seconds * 1_000) / restMs));
  const turns: Fault[] = [];
  while (turns.length < count) turns.push(...random.shuffle(faults));
  return turns.slice(0, count).map((fault, n) => ({ ...fault, atMs: 1_000 + n * restMs }));
}

export const libraryGoals: Readonly<Record<string, Goal>> = { R15: library };
