import { describe, expect, it } from '@jest/globals';
import type { Destination } from './destination-reads.js';
import { remedyOf, statusOf } from './destination-status.js';

const destination: Destination = {
  id: '0190b6a2-7f00-7a11-8b22-93c4d5e6f708',
  name: 'Warehouse',
  url: 'tls://broker.example:4222',
  stream: 'EVENTS',
  subject: 'shop.events',
  hasCredentials: true,
  eventTypes: ['order.placed'],
  perSecond: 50_000,
  state: 'enabled',
  connected: true,
  behindEvents: 0,
  behindSeconds: 0,
  createdAt: '2026-11-01T00:00:00.000Z',
};
const held = (reason: string): Destination => ({ ...destination, behindEvents: 1_200, behindSeconds: 90, held: { reason: reason as 'refused', detail: 'no', since: destination.createdAt } });

describe('the status of a destination', () => {
  it('is running while it has all events but the newest', () => {
    expect(statusOf(destination).label).toBe('Running');
    expect(statusOf({ ...destination, behindEvents: 40, behindSeconds: 2 }).label).toBe('Running');
  });

  it('does not claim to run before its server was reached since the last change', () => {
    const isChanged = { connected: false };
    expect(statusOf({ ...destination, ...isChanged }).label).toBe('Starting');
    expect(statusOf({ ...held('unreachable'), ...isChanged }).label).toBe('Held');
  });

  it('says how far it is behind', () => {
    expect(statusOf({ ...destination, behindEvents: 1_200, behindSeconds: 90 })).toMatchObject({ label: 'Behind', why: '1,200 events wait, the oldest for 1.5 min.' });
    expect(statusOf({ ...destination, behindEvents: 1, behindSeconds: 12 }).why).toBe('1 event waits, the oldest for 12 s.');
  });

  it('says why it is held and what to do, also for a reason that only a newer shop knows', () => {
    expect(statusOf(held('stream-missing'))).toMatchObject({ label: 'Held', why: 'Its server has no stream EVENTS. 1,200 events wait, the oldest for 1.5 min.' });
    expect(remedyOf(held('stream-missing'))).toContain('shop.events.>');
    expect(statusOf(held('of a newer shop')).why).toMatch(/^Nothing can be published\. 1,200/);
  });

  it('is disabled, whatever held it', () => {
    expect(statusOf({ ...held('unreachable'), state: 'disabled' }).label).toBe('Disabled');
  });
});
