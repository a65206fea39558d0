// Tests of an old release compare whole objects. Today's services may add members to them, which a client ignores.
import { expect } from '@jest/globals';

expect.extend({
  /** @param {unknown} received @param {unknown} expected */
  toEqual(received, expected) {
    const { iterableEquality, subsetEquality } = this.utils;
    return {
      pass: this.equals(received, expected, [...this.customTesters, iterableEquality, subsetEquality]),
      message: () => this.utils.printDiffOrStringify(expected, received, 'Expected', 'Received', false),
    };
  },
});
