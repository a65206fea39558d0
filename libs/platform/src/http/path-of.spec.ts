import { describe, expect, it } from '@jest/globals';
import { pathOf } from './request.js';

describe('the path of a request target', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['/a?key=secret', '/a'],
    ['/a#secret?x', '/a'],
    ['http://user:secret@host/a?key=secret', '/a'],
    ['HTTPS://user:secret@host:443/a', '/a'],
    ['http://user:secret@host?key=secret', ''],
    ['//host/a', '//host/a'],
    ['/a?to=http://host/b', '/a'],
    ['*', '*'],
    ['', ''],
  ])('of %s is %s', (target, path) => expect(pathOf(target)).toBe(path));
});
