import { defaultTypes, type EventType, eventTypeOf, eventTypes, type FinalOrder, type Follower, type History, type SeenEvent } from '../history.js';
import type { Rule, Violation } from './violation.js';

/**
 * Every event is in the log, at every receiver and at every resuming client that requested its type. None is missing or invented, all
 * copies have the same bytes, and the events of each order come in order, across types. The log and clients have each event once;
 * receivers may get it again, unchanged.
 */
export function checkEvents({ final }: History): Violation[] {
  const all = expectedEvents(final.orders, eventTypes);
  const bodies = new Map(final.log.map(({ id, body }) => [id, body]));
  const orderIds = new Set(final.orders.map(({ id }) => id));
  const ours = (events: readonly SeenEvent[]): SeenEvent[] => events.filter(({ id, body }) => all.has(id) || isOf(orderIds, body));
  const check = (rule: Rule, { name, types = defaultTypes, events }: Follower, once: boolean): Violation[] =>
    compare(expectedEvents(final.orders, types), bodies, ours(events), once).map((what) => ({ rule, what: `${name}: ${what}` }));
  return [
    ...check('log', { name: 'event log', types: eventTypes, events: final.log }, true),
    ...final.receivers.flatMap((receiver) => check('receivers', receiver, false)),
    ...final.destinations.flatMap((one) => check('destinations', one, false)),
    ...final.sockets.flatMap((socket) => check('sockets', socket, true)),
  ];
}

interface Expected {
  readonly orderId: number;
  readonly type: EventType;
  /** Position among the events of its order, from 0. */
  readonly turn: number;
}

const expectedEvents = (orders: readonly FinalOrder[], types: readonly EventType[]): ReadonlyMap<string, Expected> =>
  new Map(
    orders.flatMap(({ id, transitions }) =>
      transitions
        .flatMap((step) => {
          const type = eventTypeOf(step);
          return step.eventId !== null && type && types.includes(type) ? [{ eventId: step.eventId, type }] : [];
        })
        .map(({ eventId, type }, turn): [string, Expected] => [eventId, { orderId: id, type, turn }]),
    ),
  );

/** Whether an event is about one of these orders; catches invented events. */
function isOf(orderIds: ReadonlySet<number>, body: string): boolean {
  const { data } = JSON.parse(body) as { data?: { orderId: number } };
  return data !== undefined && orderIds.has(data.orderId);
}

function compare(expected: ReadonlyMap<string, Expected>, bodies: ReadonlyMap<string, string>, events: readonly SeenEvent[], once: boolean): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  const nextTurn = new Map<number, number>();
  for (const { id, body } of events) {
    const event = expected.get(id);
    if (!event) {
      faults.push(`event ${id} belongs to no step, or its type was not requested: ${body}`);
      continue;
    }
    if (!body.startsWith(`{"event":"${event.type}"`)) faults.push(`event ${id} should be ${event.type}: ${body}`);
    if (body !== bodies.get(id)) faults.push(`event ${id} differs from its bytes in the log`);
    if (seen.has(id)) {
      if (once) faults.push(`event ${id} came twice`);
      continue;
    }
    seen.add(id);
    const turn = nextTurn.get(event.orderId) ?? 0;
    if (event.turn !== turn) faults.push(`order ${event.orderId}: its event ${event.turn + 1} came when event ${turn + 1} was expected`);
    nextTurn.set(event.orderId, Math.max(turn, event.turn + 1));
  }
  const missing = [...expected.keys()].filter((id) => !seen.has(id));
  if (missing.length > 0) faults.push(`${missing.length} of ${expected.size} events are missing, the first is ${missing[0] ?? ''}`);
  return faults;
}
