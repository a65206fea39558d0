import { describe, expect, it } from '@jest/globals';
import { afterAcknowledgement, afterRefusal, type StockIntent } from './stock-intent.js';

const intent = (state: Partial<StockIntent>): StockIntent => ({
  incarnation: 5,
  opens: false,
  units: null,
  listsVersion: null,
  retireAttempt: null,
  ...state,
});

describe('what remains of an intent', () => {
  it('nothing, once the store has acknowledged the opening and the latest status', () => {
    expect(afterAcknowledgement(intent({ opens: true }), 5)).toBeUndefined();
    expect(afterAcknowledgement(intent({ opens: true, listsVersion: 8 }), 8)).toBeUndefined();
  });

  it('a status that was written during the call', () => {
    expect(afterAcknowledgement(intent({ opens: true, listsVersion: 9 }), 8)).toEqual(intent({ listsVersion: 9 }));
  });

  it('a deletion that began during the call', () => {
    expect(afterAcknowledgement(intent({ opens: true, listsVersion: 8, retireAttempt: 3 }), 8)).toEqual(intent({ retireAttempt: 3 }));
  });

  it('nothing of a refused deletion', () => {
    expect(afterRefusal(intent({ retireAttempt: 3 }), 3)).toBeUndefined();
  });

  it('a later attempt at a refused deletion', () => {
    expect(afterRefusal(intent({ retireAttempt: 4 }), 3)).toEqual(intent({ retireAttempt: 4 }));
  });

  it('an opening and a status that were pending with a refused deletion', () => {
    expect(afterRefusal(intent({ opens: true, listsVersion: 9, retireAttempt: 3 }), 3)).toEqual(
      intent({ opens: true, listsVersion: 9 }),
    );
  });
});
