import { describe, expect, it } from '@jest/globals';
import type { History, StreamedEvent } from '../history.js';
import { checkDestinations } from './destinations.js';
import { eventOf, history } from './history.spec.fixture.js';

const event = (n: number, more: Partial<StreamedEvent> = {}): StreamedEvent => ({ ...eventOf(1, n), at: 10_000 + n, epoch: 'one', isMarker: false, ...more });
const marker = event(9, { id: 'gap', epoch: 'two', isMarker: true });

function found(events: readonly StreamedEvent[], destinationFaults: History['destinationFaults'] = []): string {
  const base = history();
  return checkDestinations({ ...base, destinationFaults, final: { ...base.final, epochs: new Map([[event(2).id, [{ epoch: 'two' }]]]), destinations: [{ name: 'destination', events }] } }).map(({ what }) => what).join('\n');
}

describe('a stream of a destination', () => {
  it('may have an event twice after a fault, and another epoch after a marker', () => {
    expect(found([event(0), event(1)])).toBe('');
    expect(found([event(0), event(0, { at: 15_000 })], [{ from: 11_000, to: 12_000 }])).toBe('');
    expect(found([event(0), marker, event(1, { epoch: 'two' })])).toBe('');
  });

  it('has a violation if an epoch begins without a marker, or an event came again without a fault', () => {
    expect(found([event(0), event(1, { epoch: 'two' })])).toMatch(/without a marker/);
    expect(found([event(0), marker, event(2, { epoch: 'two' })])).toBe('');
    expect(found([event(0), event(2)])).toMatch(/should be of the epoch two, not one/);
    expect(found([event(0), event(0, { at: 15_000 })])).toMatch(/came again/);
    expect(found([event(0), event(0, { at: 15_000 })], [{ from: 1_000, to: 2_000 }])).toMatch(/came again/);
  });
});
