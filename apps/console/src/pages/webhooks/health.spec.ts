import { describe, expect, it } from '@jest/globals';
import { healthOf, shortHealthOf, waitingOf } from './health.js';
import type { Delivery } from './webhook-reads.js';

const enabled = { state: 'enabled' } as const;
const at = (second: number): string => new Date(1_800_000_000_000 + second * 1_000).toISOString();
let count = 0;
const delivery = (state: Delivery['state'], ...attempts: Delivery['attempts']): Delivery => ({ id: ++count, eventId: `event ${count}`, state, attempts });
const refused = (second: number): Delivery['attempts'][number] => ({ at: at(second), durationMs: 3, status: 503, error: 'The receiver answered 503.' });
const taken = (second: number): Delivery['attempts'][number] => ({ at: at(second), durationMs: 3, status: 200 });

describe('the health of an endpoint', () => {
  it('is unknown without deliveries, and suggests a test event', () => {
    expect(healthOf(enabled, [])).toMatchObject({ label: 'Nothing sent yet', why: expect.stringContaining('test event') });
  });

  it('of another user suggests nothing that only its owner can do', () => {
    expect(healthOf({ ...enabled, owner: 'ada' }, [])).toMatchObject({ label: 'Nothing sent yet', why: 'No event has matched it so far.' });
  });

  it('depends on the newest attempt, not on the newest delivery', () => {
    expect(healthOf(enabled, [delivery('delivered', taken(1)), delivery('pending', refused(0), refused(5))])).toMatchObject({ label: 'Failing', why: 'The receiver answered 503.' });
    expect(healthOf(enabled, [delivery('delivered', taken(9)), delivery('delivered', refused(0), taken(5))])).toMatchObject({ label: 'Healthy' });
  });

  it('is failing if the shop says so, though its attempts are older than all the deliveries that are known', () => {
    const waiting = [delivery('pending'), delivery('pending')];
    expect(healthOf({ ...enabled, failingSince: at(0), lastError: 'The connection was refused.' }, waiting)).toMatchObject({ label: 'Failing', why: 'The connection was refused.' });
    expect(healthOf({ ...enabled, failingSince: at(0) }, waiting)).toMatchObject({ label: 'Failing' });
    // Its deliveries are read more often than the webhook.
    expect(healthOf({ ...enabled, failingSince: at(0), lastError: 'The connection was refused.' }, [delivery('delivered', taken(9))])).toMatchObject({ label: 'Healthy' });
  });

  it('is recovering while failed deliveries wait for a retry', () => {
    expect(healthOf(enabled, [delivery('delivered', taken(9)), delivery('pending', refused(5))])).toMatchObject({ label: 'Recovering' });
  });

  it('is recovering although many newer deliveries hide those that wait', () => {
    expect(healthOf(enabled, [delivery('delivered', taken(9))], [delivery('pending', refused(5)), delivery('pending')])).toMatchObject({ label: 'Recovering', why: 'It answers again. 1 event waits to be tried again.' });
  });

  it('counts what waits behind a failed delivery of its order, until when, and not what was sent again and has arrived', () => {
    const placed = { ...delivery('pending', refused(5)), orderId: 7, nextAttemptAt: at(200) };
    const changed = { ...delivery('pending'), orderId: 7 };
    const [ofOther, beingSent] = [{ ...delivery('pending', refused(6)), orderId: 8, nextAttemptAt: at(100) }, { ...delivery('pending'), orderId: 9 }];
    const pending = [beingSent, ofOther, changed, placed];
    expect(waitingOf(pending)).toEqual([ofOther, changed, placed]);
    expect(healthOf(enabled, [delivery('delivered', taken(9))], pending)).toMatchObject({ why: 'It answers again. 2 events wait to be tried again, 1 other behind them.', until: at(200) });
    const again = [placed, ofOther].map(({ eventId }) => ({ ...delivery('delivered', taken(9)), eventId }));
    expect(healthOf(enabled, again, pending)).toMatchObject({ why: 'It answers again. 1 event waits behind others that were sent again.' });
    expect(healthOf(enabled, [...again, { ...delivery('delivered', taken(9)), eventId: changed.eventId }], pending)).toMatchObject({ label: 'Recovering', why: 'It answers again. What waits to be tried again has arrived: it was sent again.' });
  });

  it('explains why it is disabled', () => {
    expect(healthOf({ state: 'disabled', disabledReason: 'gone' }, [delivery('held')])).toMatchObject({ label: 'Disabled', why: expect.stringContaining('410') });
    expect(healthOf({ state: 'disabled', disabledReason: 'failing' }, [])).toMatchObject({ why: expect.stringContaining('for days') });
    expect(healthOf({ state: 'disabled' }, [])).toMatchObject({ why: expect.stringContaining('owner') });
  });

  it('in a list is what the shop says: failing if its last attempt failed, but not once its owner has disabled it', () => {
    const failing = { failingSince: at(0), lastError: 'The connection was refused.' };
    expect(shortHealthOf({ ...enabled, ...failing })).toMatchObject({ label: 'Failing', why: 'The connection was refused.' });
    expect(shortHealthOf(enabled)).toMatchObject({ label: 'Not failing' });
    expect(shortHealthOf({ state: 'disabled', ...failing })).toMatchObject({ label: 'Disabled', why: 'It was disabled by its owner.' });
    expect(shortHealthOf({ state: 'disabled', disabledReason: 'failing', ...failing })).toMatchObject({ label: 'Disabled', why: expect.stringContaining('for days') });
  });
});
