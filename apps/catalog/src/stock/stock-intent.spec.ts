import { describe, expect, it } from '@jest/globals';
import { acknowledged, refused, type StockIntent } from './stock-intent.js';

const intent = (state: Partial<StockIntent>): StockIntent => ({
  incarnation: 5,
  opens: false,
  units: null,
  listsVersion: null,
  retireAttempt: null,
  ...state,
});

describe('what is left to tell the store', () => {
  it('nothing, once it has acknowledged the opening and the latest status', () => {
    expect(acknowledged(intent({ opens: true }), 5)).toBeUndefined();
    expect(acknowledged(intent({ opens: true, listsVersion: 8 }), 8)).toBeUndefined();
  });

  it('a status that was written while it answered', () => {
    expect(acknowledged(intent({ opens: true, listsVersion: 9 }), 8)).toEqual(intent({ listsVersion: 9 }));
  });

  it('a deletion that began while it answered', () => {
    expect(acknowledged(intent({ opens: true, listsVersion: 8, retireAttempt: 3 }), 8)).toEqual(intent({ retireAttempt: 3 }));
  });

  it('nothing of a deletion that it refused', () => {
    expect(refused(intent({ retireAttempt: 3 }), 3)).toBeUndefined();
  });

  it('a later attempt at the deletion that it refused', () => {
    expect(refused(intent({ retireAttempt: 4 }), 3)).toEqual(intent({ retireAttempt: 4 }));
  });

  it('an opening and a status that waited behind a refused deletion', () => {
    expect(refused(intent({ opens: true, listsVersion: 9, retireAttempt: 3 }), 3)).toEqual(
      intent({ opens: true, listsVersion: 9 }),
    );
  });
});
