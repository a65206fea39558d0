import { type Answered, type Call, type FinalOrder, type History, isAnswered, isDone, type OrderStatus } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** What a move makes of an order; done again it answers the same. */
const results = { place: ['placed'], pay: ['approved', 'delivered'], deliver: ['delivered'], cancel: ['cancelled'] } as const;

/**
 * Each order is a register: all calls about it can be put into one order that agrees with the clock and with its timeline.
 * The states of an order never come back, so this is decided exactly: versions only go up, and what a call was told must fit
 * between the highest version that was known when it began and the lowest that was told to a later one.
 */
export function checkRegister({ calls, final, ordersExpire }: History): Violation[] {
  const byOrder = Map.groupBy(calls.filter(isAnswered), (call) => orderOf(call) ?? NaN);
  return final.orders.flatMap((order) => checkOrder(order, byOrder.get(order.id) ?? [], ordersExpire));
}

const orderOf = ({ ask, answer }: Call & { answer: Answered }): number | undefined =>
  'orderId' in ask ? ask.orderId : answer.order?.id;

function checkOrder(order: FinalOrder, calls: readonly (Call & { answer: Answered })[], expires: boolean): Violation[] {
  const statusAt = new Map<number, OrderStatus>(order.transitions.map(({ version, newStatus }) => [version, newStatus]));
  const newest = Math.max(0, ...statusAt.keys());
  const violations: Violation[] = [];
  const found = (call: Call, what: string): unknown => violations.push({ rule: 'register', what: `${describe(call)}: ${what}` });
  const told = calls.flatMap((call) => {
    const version = versionTold(call);
    return version === undefined ? [] : [{ call, version }];
  });
  const byEnd = [...told].sort((a, b) => a.call.to - b.call.to);
  for (const call of calls) {
    const atLeast = Math.max(0, ...byEnd.filter((one) => one.call.to < call.from).map((one) => one.version));
    const version = versionTold(call);
    if (version !== undefined) {
      const status = statusAt.get(version);
      if (status !== toldStatus(call)) found(call, `told version ${version} as ${toldStatus(call) ?? '?'}, which was ${status ?? 'never there'}`);
      else if (version < atLeast) found(call, `told version ${version} after ${atLeast} was known`);
      else if (isDone(call) && call.ask.kind in results && !canResult(call.ask.kind as keyof typeof results, status)) found(call, `answered 200 and told ${status ?? 'nothing'}`);
      continue;
    }
    const refusal = refusalOf(call);
    if (!refusal) continue;
    const upTo = Math.min(newest, ...told.filter((one) => one.call.from > call.to).map((one) => one.version));
    const possible = [...range(atLeast, upTo)].some((one) => refusal.includes(statusAt.get(one) ?? 'absent'));
    if (!possible) found(call, `refused, and it was ${[...range(atLeast, upTo)].map((one) => statusAt.get(one) ?? 'absent').join(' or ')}`);
  }
  violations.push(...checkMoves(order, calls, told, expires));
  return violations;
}

/** Nobody sees what a move did before somebody asked for it, and one move is not done for two. */
function checkMoves(order: FinalOrder, calls: readonly Call[], told: readonly { call: Call; version: number }[], expires: boolean): Violation[] {
  return order.transitions.flatMap(({ version, newStatus }): Violation[] => {
    if (newStatus === 'cancelled' && expires) return [];
    const kind = { placed: 'place', approved: 'pay', delivered: 'deliver', cancelled: 'cancel' }[newStatus];
    const askers = calls.filter(({ ask }) => ask.kind === kind);
    const seen = told.filter((one) => one.version >= version);
    const early = seen.find((one) => askers.length > 0 && askers.every(({ from }) => from > one.call.to));
    return early ? [{ rule: 'register', what: `${describe(early.call)}: told ${newStatus} before anybody had asked for it` }] : [];
  });
}

const canResult = (kind: keyof typeof results, status: OrderStatus | undefined): boolean =>
  status !== undefined && (results[kind] as readonly string[]).includes(status);

function versionTold({ answer }: Call): number | undefined {
  return answer === 'lost' || answer.status !== 200 || answer.isReplayed ? undefined : answer.order?.version;
}

const toldStatus = ({ answer }: Call): OrderStatus | undefined => (answer === 'lost' ? undefined : answer.order?.status);

/** What the order may have been when a rule refused the call; undefined when no rule of the lifecycle did. */
function refusalOf({ ask, answer }: Call): readonly string[] | undefined {
  if (answer === 'lost') return undefined;
  if (ask.kind === 'read' && answer.status === 404) return ['absent'];
  switch (answer.code) {
    case 'order-not-cancellable':
      return ['approved', 'delivered'];
    case 'order-not-payable':
      return ['approved', 'delivered', 'cancelled'];
    case 'order-transition-refused':
      return ['placed', 'delivered', 'cancelled'];
    default:
      return undefined;
  }
}

function* range(from: number, to: number): Generator<number> {
  for (let one = from; one <= to; one++) yield one;
}
