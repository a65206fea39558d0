import { describe, expect, it } from '@jest/globals';
import { readConfig } from '@plant-shop/platform/config';
import { faultsOf, identitySettings } from './config.js';

describe("identity's configuration", () => {
  const environment = {
    NODE_ENV: 'development',
    NATS_URL: 'nats://127.0.0.1:4222',
    IDENTITY_DATABASE_URL: 'postgres://identity@127.0.0.1/identity',
    PUBLIC_URL: 'https://shop.example',
    IDENTITY_SECRET: 'x'.repeat(32),
  };
  const read = (changed: Record<string, string>): unknown =>
    readConfig(identitySettings, { ...environment, ...changed }, faultsOf);

  it('has production values by default', () => {
    expect(read({})).toMatchObject({
      passwordMinLength: 8,
      refuseCommonPasswords: true,
      sessionTtlHours: 24,
      sessionIdleHours: 720,
      staffSessionIdleHours: 12,
      loginLimitPerUser: 20,
      loginLimitPerAddress: 100,
      demoData: false,
    });
  });

  it('allows demo data in development and refuses it in production, the default environment', () => {
    expect(read({ DEMO_DATA: 'true' })).toMatchObject({ demoData: true });
    expect(() => read({ DEMO_DATA: 'true', NODE_ENV: 'production' })).toThrow(/DEMO_DATA must be false/);
    expect(() => read({ DEMO_DATA: 'true', NODE_ENV: '' })).toThrow(/DEMO_DATA must be false/);
  });

  it('refuses a PUBLIC_URL that is more than an origin', () => {
    expect(read({ PUBLIC_URL: 'https://shop.example/' })).toMatchObject({ publicUrl: 'https://shop.example' });
    expect(() => read({ PUBLIC_URL: 'https://shop.example/v3' })).toThrow(/PUBLIC_URL must be an origin/);
  });

  it('does not print a secret that is too short', () => {
    expect(() => read({ IDENTITY_SECRET: 'short-secret' })).toThrow(/^(?![\s\S]*short-secret)[\s\S]*IDENTITY_SECRET/);
  });
});
