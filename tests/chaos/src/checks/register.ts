import { type Answered, type Call, type FinalOrder, type History, isAnswered, isDone, type Transition } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** The statuses that a successful call can leave an order in. Repeating the call succeeds with the same answer. */
const results = {
  place: ['placed'],
  pay: ['approved', 'delivered'],
  deliver: ['delivered'],
  cancel: ['cancelled'],
  ship: ['approved'],
  transfer: ['placed', 'approved'],
} as const;

/** The client that may see all orders. */
const staff = 'staff';

/**
 * Each order is a linearizable register: all calls about it can be put into one sequence that agrees with the clock and with its
 * timeline. An order never returns to an earlier state, so this is decided exactly, without a search: versions only increase, and a
 * call's answer must fit between the highest version known before it began and the lowest one that a later call returned.
 */
export function checkRegister({ calls, final }: History): Violation[] {
  const byOrder = Map.groupBy(calls, (call) => orderOf(call) ?? NaN);
  return final.orders.flatMap((order) => {
    const requested = byOrder.get(order.id) ?? [];
    const answered = requested.filter(isAnswered);
    return [...checkOrder(order, answered), ...checkNothingEarly(order, requested)];
  });
}

const orderOf = ({ request, answer }: Call): number | undefined =>
  'orderId' in request ? request.orderId : answer === 'lost' ? undefined : answer.order?.id;

interface Observation {
  readonly call: Call;
  readonly version: number;
}

const observationsIn = (calls: readonly Call[]): Observation[] =>
  calls.flatMap((call) => {
    const version = observedVersion(call);
    return version === undefined ? [] : [{ call, version }];
  });

function checkOrder(order: FinalOrder, calls: readonly (Call & { answer: Answered })[]): Violation[] {
  const steps = new Map(order.transitions.map((step) => [step.version, step]));
  const newest = Math.max(0, ...steps.keys());
  const violations: Violation[] = [];
  const found = (call: Call, what: string): unknown => violations.push({ rule: 'register', what: `${describe(call)}: ${what}` });
  const observed = observationsIn(calls);
  const byEnd = [...observed].sort((a, b) => a.call.to - b.call.to);
  for (const call of calls) {
    const atLeast = Math.max(0, ...byEnd.filter((one) => one.call.to < call.from).map((one) => one.version));
    const version = observedVersion(call);
    if (version !== undefined) {
      const step = steps.get(version);
      const status = observedStatus(call);
      if (step?.newStatus !== status) found(call, `returned version ${version} as ${status ?? '?'}, but it ${step ? `is ${step.newStatus}` : 'never existed'}`);
      else if (version < atLeast) found(call, `returned version ${version} after ${atLeast} was known`);
      else if (isDone(call) && !canResult(call, step)) found(call, `answered 200 with status ${status ?? 'unknown'}`);
      else if (call.request.kind === 'read' && isHiddenFrom(call, step)) found(call, `returned version ${version}, whose owner is ${step?.owner ?? 'unknown'}`);
      continue;
    }
    const allows = refusalOf(call);
    if (!allows) continue;
    const upTo = Math.min(newest, ...observed.filter((one) => one.call.from > call.to).map((one) => one.version));
    const possible = [...range(atLeast, upTo)].map((one) => steps.get(one));
    if (!possible.some(allows)) found(call, `refused, but the order was ${possible.map((step) => step?.newStatus ?? 'absent').join(' or ')}`);
  }
  return violations;
}

/** No call sees the effect of a step before a call requested it. Calls without an answer count as requests too. */
function checkNothingEarly(order: FinalOrder, calls: readonly Call[]): Violation[] {
  const observed = observationsIn(calls);
  return order.transitions.flatMap((step): Violation[] => {
    if (step.actor === 'store') return [];
    const kind = kindOf(step);
    const callsOfKind = calls.filter(({ request }) => request.kind === kind);
    const early = observed.find((one) => one.version >= step.version && callsOfKind.length > 0 && callsOfKind.every(({ from }) => from > one.call.to));
    return early ? [{ rule: 'register', what: `${describe(early.call)}: showed ${step.reason} before any call requested it` }] : [];
  });
}

const amendments: Readonly<Record<string, 'ship' | 'pay'>> = { shipped: 'ship', 'payment failed': 'pay', 'refund due': 'pay' };

/** The kind of call that causes a step. */
export function kindOf({ version, previousStatus, newStatus, reason }: Transition): keyof typeof results {
  if (previousStatus === null && version > 1) return amendments[reason] ?? 'transfer';
  return ({ placed: 'place', approved: 'pay', delivered: 'deliver', cancelled: 'cancel' } as const)[newStatus];
}

function canResult({ request }: Call, step: Transition | undefined): boolean {
  if (!(request.kind in results)) return true;
  // A failed payment is recorded, whatever the order's status.
  if (request.kind === 'pay' && request.outcome === 'failed') return true;
  return step !== undefined && (results[request.kind as keyof typeof results] as readonly string[]).includes(step.newStatus);
}

function observedVersion({ answer }: Call): number | undefined {
  return answer === 'lost' || answer.status !== 200 || answer.isReplayed ? undefined : answer.order?.version;
}

const observedStatus = ({ answer }: Call): string | undefined => (answer === 'lost' ? undefined : answer.order?.status);

/** Whether the client gets 404 for the order, since another customer owns it. Unknown, so false, if the owner's account was deleted. */
const isHiddenFrom = ({ client }: Call, step: Transition | undefined): boolean =>
  client !== staff && step !== undefined && step.owner !== null && step.owner !== client;

/** Returns a predicate: may the order have been in this state when the call was refused? Undefined if no lifecycle rule refused it. */
function refusalOf(call: Call): ((step: Transition | undefined) => boolean) | undefined {
  const { request, answer } = call;
  if (answer === 'lost') return undefined;
  if (answer.code === 'order-not-found' && 'orderId' in request) return (step) => typeof step?.owner !== 'string' || isHiddenFrom(call, step);
  const among = (...statuses: string[]) => (step: Transition | undefined): boolean => step !== undefined && statuses.includes(step.newStatus);
  switch (answer.code) {
    case 'order-not-cancellable':
      return among('approved', 'delivered');
    case 'order-not-payable':
      return among('approved', 'delivered', 'cancelled');
    case 'order-transition-refused':
      return request.kind === 'transfer' ? among('delivered', 'cancelled') : among('placed', 'delivered', 'cancelled');
    default:
      return undefined;
  }
}

function* range(from: number, to: number): Generator<number> {
  for (let one = from; one <= to; one++) yield one;
}
