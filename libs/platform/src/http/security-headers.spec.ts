import { describe, expect, it } from '@jest/globals';
import { transportSecurity } from './security-headers.js';

describe('Strict-Transport-Security', () => {
  it.each(['https://shop.example', 'wss://stream.example'])('is sent at %s', (publicUrl) => {
    expect(transportSecurity(publicUrl)).toEqual({ 'strict-transport-security': 'max-age=31536000' });
  });

  it.each(['http://127.0.0.1:8080', 'ws://127.0.0.1:8081'])('is not sent at %s', (publicUrl) => expect(transportSecurity(publicUrl)).toEqual({}));
});
