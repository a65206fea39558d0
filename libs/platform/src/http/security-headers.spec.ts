import { describe, expect, it } from '@jest/globals';
import { responseHeaders, transportSecurity } from './security-headers.js';

describe('Strict-Transport-Security', () => {
  it.each(['https://shop.example', 'wss://stream.example'])('is sent at %s', (publicUrl) => {
    expect(transportSecurity(publicUrl)).toEqual({ 'strict-transport-security': 'max-age=31536000; includeSubDomains' });
  });

  it.each(['http://127.0.0.1:8080', 'ws://127.0.0.1:8081'])('is not sent at %s', (publicUrl) => expect(transportSecurity(publicUrl)).toEqual({}));
});

it('the default headers of responses differ between servers only in caching and HSTS', () => {
  const always = {
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
  expect(responseHeaders('http://127.0.0.1:8080', 'private, no-cache')).toEqual({ ...always, 'cache-control': 'private, no-cache' });
  expect(responseHeaders('wss://stream.example', 'no-store')).toEqual({
    ...always,
    'cache-control': 'no-store',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
  });
});
