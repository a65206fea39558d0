import { describe, expect, it } from '@jest/globals';
import { expectedVersion, isNotModified } from './headers.js';

describe('If-Match', () => {
  it.each([
    [undefined, undefined],
    ['*', undefined],
    ['"7"', 7],
    [' "7" ', 7],
    ['"7-MLFW8O2xh5Ey-_k3"', 7],
    // Weak and foreign tags are valid but match no version.
    ['W/"7"', 0],
    ['W/"7-MLFW8O2xh5Ey-_k3"', 0],
    ['"7-"', 0],
    ['"-7"', 0],
    ['"abc"', 0],
    ['"0"', 0],
    ['"07"', 0],
    ['"9007199254740993"', 0],
    ['""', 0],
  ])('%s expects version %s', (header, version) => {
    expect(expectedVersion(header)).toBe(version);
  });

  it.each(['7', '"7', '"7 8"', '"7", "8"', 'w/"7"', '"a"b"', ''])('%s is not a single entity tag', (header) => {
    expect(() => expectedVersion(header)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });
});

describe('If-None-Match', () => {
  it.each([
    [undefined, false],
    ['*', true],
    ['"7"', true],
    ['W/"7"', true],
    ['"6", "7"', true],
    ['"6"', false],
    ['7', false],
  ])('%s against "7": %s', (header, known) => {
    expect(isNotModified(header, '"7"')).toBe(known);
  });
});
