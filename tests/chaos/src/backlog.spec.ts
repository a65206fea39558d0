import { describe, expect, it } from '@jest/globals';
import { backlogOf } from './backlog.js';

const event = (id: string) => ({ id, body: '{}' });
const changes = (...ids: string[]) => ids.map((id) => ({ id, type: 'order.status_changed' as const }));

describe('the backlog that a trial waits for before it is judged', () => {
  it('names a receiver that lacks events even when no delivery is pending', () => {
    const followers = [{ name: 'socket 1', events: [event('a'), event('b')] }, { name: 'receiver 1', events: [] }];
    expect(backlogOf([], followers, changes('a', 'b'))).toEqual(['receiver 1 lacks 2 of 2 events']);
  });

  it('counts distinct events, so repetitions and events of other orders do not hide a missing one', () => {
    expect(backlogOf([], [{ name: 'receiver 1', events: [event('a'), event('a'), event('x')] }], changes('a', 'b'))).toEqual(['receiver 1 lacks 1 of 2 events']);
  });

  it('contains the pending work of the services', () => {
    expect(backlogOf(['2 events have no number'], [{ name: 'socket 1', events: [event('a')] }], changes('a'))).toEqual(['2 events have no number']);
  });

  it('contains only events of the types that a follower requested', () => {
    const expected = [...changes('a'), { id: 'b', type: 'order.placed' as const }];
    const events = [event('a')];
    expect(backlogOf([], [{ name: 'socket 1', events }, { name: 'socket 2', types: ['order.placed'], events }], expected)).toEqual(['socket 2 lacks 1 of 1 events']);
  });

  it('is empty when every follower has every event', () => {
    expect(backlogOf([], [{ name: 'receiver 1', events: [event('b'), event('a')] }], changes('a', 'b'))).toEqual([]);
  });
});
