import { type Answered, type Call, type FinalOrder, type History, isAnswered, isDone, type Transition } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** What a move makes of an order; done again it answers the same. */
const results = {
  place: ['placed'],
  pay: ['approved', 'delivered'],
  deliver: ['delivered'],
  cancel: ['cancelled'],
  ship: ['approved'],
  transfer: ['placed', 'approved'],
} as const;

/** The client who sees all orders. */
const staff = 'staff';

/**
 * Each order is a register: all calls about it can be put into one order that agrees with the clock and with its timeline.
 * The states of an order never come back, so this is decided exactly: versions only go up, and what a call was told must fit
 * between the highest version that was known when it began and the lowest that was told to a later one.
 */
export function checkRegister({ calls, final }: History): Violation[] {
  const byOrder = Map.groupBy(calls, (call) => orderOf(call) ?? NaN);
  return final.orders.flatMap((order) => {
    const asked = byOrder.get(order.id) ?? [];
    const answered = asked.filter(isAnswered);
    return [...checkOrder(order, answered), ...checkMoves(order, asked)];
  });
}

const orderOf = ({ ask, answer }: Call): number | undefined =>
  'orderId' in ask ? ask.orderId : answer === 'lost' ? undefined : answer.order?.id;

interface Told {
  readonly call: Call;
  readonly version: number;
}

const toldIn = (calls: readonly Call[]): Told[] =>
  calls.flatMap((call) => {
    const version = versionTold(call);
    return version === undefined ? [] : [{ call, version }];
  });

function checkOrder(order: FinalOrder, calls: readonly (Call & { answer: Answered })[]): Violation[] {
  const steps = new Map(order.transitions.map((step) => [step.version, step]));
  const newest = Math.max(0, ...steps.keys());
  const violations: Violation[] = [];
  const found = (call: Call, what: string): unknown => violations.push({ rule: 'register', what: `${describe(call)}: ${what}` });
  const told = toldIn(calls);
  const byEnd = [...told].sort((a, b) => a.call.to - b.call.to);
  for (const call of calls) {
    const atLeast = Math.max(0, ...byEnd.filter((one) => one.call.to < call.from).map((one) => one.version));
    const version = versionTold(call);
    if (version !== undefined) {
      const step = steps.get(version);
      const status = toldStatus(call);
      if (step?.newStatus !== status) found(call, `told version ${version} as ${status ?? '?'}, which was ${step?.newStatus ?? 'never there'}`);
      else if (version < atLeast) found(call, `told version ${version} after ${atLeast} was known`);
      else if (isDone(call) && !canResult(call, step)) found(call, `answered 200 and told ${status ?? 'nothing'}`);
      else if (call.ask.kind === 'read' && isHiddenFrom(call, step)) found(call, `told version ${version}, which belongs to ${step?.owner ?? 'nobody'}`);
      continue;
    }
    const allows = refusalOf(call);
    if (!allows) continue;
    const upTo = Math.min(newest, ...told.filter((one) => one.call.from > call.to).map((one) => one.version));
    const possible = [...range(atLeast, upTo)].map((one) => steps.get(one));
    if (!possible.some(allows)) found(call, `refused, and it was ${possible.map((step) => step?.newStatus ?? 'absent').join(' or ')}`);
  }
  return violations;
}

/** Nobody sees what a move did before somebody asked for it. Who got no answer has asked all the same. */
function checkMoves(order: FinalOrder, calls: readonly Call[]): Violation[] {
  const told = toldIn(calls);
  return order.transitions.flatMap((step): Violation[] => {
    if (step.actor === 'store') return [];
    const kind = kindOf(step);
    const askers = calls.filter(({ ask }) => ask.kind === kind);
    const early = told.find((one) => one.version >= step.version && askers.length > 0 && askers.every(({ from }) => from > one.call.to));
    return early ? [{ rule: 'register', what: `${describe(early.call)}: told ${step.reason} before anybody had asked for it` }] : [];
  });
}

const amendments: Readonly<Record<string, 'ship' | 'pay'>> = { shipped: 'ship', 'refund due': 'pay' };

/** Which kind of call makes a step. */
export function kindOf({ version, previousStatus, newStatus, reason }: Transition): keyof typeof results {
  if (previousStatus === null && version > 1) return amendments[reason] ?? 'transfer';
  return ({ placed: 'place', approved: 'pay', delivered: 'deliver', cancelled: 'cancel' } as const)[newStatus];
}

function canResult({ ask }: Call, step: Transition | undefined): boolean {
  if (!(ask.kind in results)) return true;
  // A payment that failed is noted, and changes nothing.
  if (ask.kind === 'pay' && ask.outcome === 'failed') return true;
  return step !== undefined && (results[ask.kind as keyof typeof results] as readonly string[]).includes(step.newStatus);
}

function versionTold({ answer }: Call): number | undefined {
  return answer === 'lost' || answer.status !== 200 || answer.isReplayed ? undefined : answer.order?.version;
}

const toldStatus = ({ answer }: Call): string | undefined => (answer === 'lost' ? undefined : answer.order?.status);

/** Others' orders do not exist for customers. Of an account that is gone nobody knows what was whose. */
const isHiddenFrom = ({ client }: Call, step: Transition | undefined): boolean =>
  client !== staff && step !== undefined && step.owner !== null && step.owner !== client;

/** Whether an order may have been like this when a rule refused the call; undefined when no rule of the lifecycle did. */
function refusalOf(call: Call): ((step: Transition | undefined) => boolean) | undefined {
  const { ask, answer } = call;
  if (answer === 'lost') return undefined;
  if (answer.code === 'order-not-found' && 'orderId' in ask) return (step) => step === undefined || step.owner === null || isHiddenFrom(call, step);
  const among = (...statuses: string[]) => (step: Transition | undefined): boolean => step !== undefined && statuses.includes(step.newStatus);
  switch (answer.code) {
    case 'order-not-cancellable':
      return among('approved', 'delivered');
    case 'order-not-payable':
      return among('approved', 'delivered', 'cancelled');
    case 'order-transition-refused':
      return ask.kind === 'transfer' ? among('delivered', 'cancelled') : among('placed', 'delivered', 'cancelled');
    default:
      return undefined;
  }
}

function* range(from: number, to: number): Generator<number> {
  for (let one = from; one <= to; one++) yield one;
}
