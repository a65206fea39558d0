import type { DestinationStream, History, StreamedEvent, Window } from '../history.js';
import type { Violation } from './violation.js';

/** An event is acknowledged this long before a fault that hits the record of it, at most. */
const recordMs = 2_000;

/**
 * What the stream of a destination has beyond its events, which `checkEvents` looks at: the epoch of each, and a marker before the first event of each later
 * one. An event is repeated only if a fault hit notifications, its servers or the broker.
 */
export function checkDestinations({ final, destinationFaults }: History): Violation[] {
  return final.destinations.flatMap((one) => [...unannounced(one), ...ofOtherEpochs(one, final.epochs), ...repeated(one, destinationFaults)].map((what) => ({ rule: 'destinations', what: `${one.name}: ${what}` })));
}

function unannounced({ events }: DestinationStream): string[] {
  const known = new Set<string>();
  return events.flatMap(({ id, epoch, isMarker }, n) => {
    const isNew = !known.has(epoch);
    known.add(epoch);
    return isNew && n > 0 && !isMarker ? [`event ${id} is the first one of an epoch, without a marker before it`] : [];
  });
}

const ofOtherEpochs = ({ events }: DestinationStream, epochs: History['final']['epochs']): string[] =>
  events.flatMap(({ id, epoch, isMarker }) => {
    const known = epochs.get(id);
    return isMarker || !known || known.some((one) => one.epoch === epoch) ? [] : [`event ${id} should be of the epoch ${known.map((one) => one.epoch).join(' or ')}, not ${epoch}`];
  });

function repeated({ events }: DestinationStream, faults: readonly Window[]): string[] {
  const last = new Map<string, StreamedEvent>();
  return events.flatMap((event) => {
    const before = last.get(event.id);
    last.set(event.id, event);
    if (!before || faults.some(({ from, to }) => from <= event.at && to >= before.at - recordMs)) return [];
    return [`event ${event.id} came again after ${((event.at - before.at) / 1_000).toFixed(2)} s, and no fault explains it`];
  });
}
