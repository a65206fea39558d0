import { describe, expect, it } from '@jest/globals';
import { networkOf } from './http/request.js';

describe('the rate-limiting key of an anonymous client', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:0:7::1', '2001:db8:0:7::/64'],
    ['2001:DB8:0:7:ffff:1:2:3', '2001:db8:0:7::/64'],
    ['2001:db8::7:1:2:3:4', '2001:db8:0:7::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['somewhere', 'somewhere'],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
