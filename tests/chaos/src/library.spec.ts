import { expect, it } from '@jest/globals';
import type { FinalOrder } from './history.js';
import { violationsOf } from './library.js';

const plantId = 7;
const order = (id: number, of = plantId): FinalOrder => ({ id, plantId: of, quantity: 1, status: 'placed', version: 1, transitions: [] });
const consumer = { name: 'consumer', events: [], gaps: [], crashes: [], lives: 3 };
const use = { plantId, wanted: 2, answered: [1, 2], consumers: [consumer], wrong: [] };
const rulesOf = (...given: Parameters<typeof violationsOf>): string[] => violationsOf(...given).map(({ rule }) => rule);

it('each order placed with the library must be answered once and exist once', () => {
  expect(rulesOf(use, [order(1), order(2), order(9, 8)])).toEqual([]);
  expect(rulesOf(use, [order(1), order(2), order(3)])).toEqual(['once-per-key']);
  expect(rulesOf(use, [order(1)])).toEqual(['once-per-key']);
  expect(rulesOf({ ...use, answered: [1, 1] }, [order(1), order(2)])).toEqual(['once-per-key']);
  expect(rulesOf({ ...use, answered: [1] }, [order(1), order(2)])).toEqual(['once-per-key']);
});

it('no consumer may get a gap or crash', () => {
  const orders = [order(1), order(2)];
  expect(rulesOf({ ...use, consumers: [consumer, { ...consumer, gaps: ['cursor-ahead'] }] }, orders)).toEqual(['sockets']);
  expect(rulesOf({ ...use, consumers: [{ ...consumer, crashes: ['life 1 ended with 1'] }] }, orders)).toEqual(['sockets']);
});
