import { describe, expect, it } from '@jest/globals';
import { nearby, networkOf } from './http/request.js';

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

describe('the network by which people recognise an address', () => {
  it.each([
    ['198.51.100.7', '198.51.100.0/24'],
    ['::ffff:198.51.100.7', '198.51.100.0/24'],
    ['2001:db8:1:2::3', '2001:db8:1::/48'],
    ['2001:db8:1:ffff::', '2001:db8:1::/48'],
    ['unknown', 'unknown'],
  ])('of %s is %s', (address, network) => {
    expect(nearby(address)).toBe(network);
  });
});
