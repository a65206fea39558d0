import { describe, expect, it } from '@jest/globals';
import { type Config, ConfigError, readConfig } from '@plant-shop/platform/config';
import { toWebhooksOptions } from './settings.js';
import { webhookSettings } from './settings.js';

const [one, two] = ['a secret of 32 characters or more', 'another secret of 32 characters or more'];
const read = (given: Record<string, string>): Config<typeof webhookSettings> =>
  readConfig(webhookSettings, { NOTIFICATIONS_SECRET: one, ...given });

describe('the settings of webhooks', () => {
  it('accept several secrets, none of them short, and never reveal one', () => {
    expect(read({ NOTIFICATIONS_SECRET: `${one}, ${two}` }).secrets).toEqual([one, two]);
    for (const secret of [`${one},short`, 'short', `${one},`]) {
      expect(() => read({ NOTIFICATIONS_SECRET: secret })).toThrow(ConfigError);
      expect(() => read({ NOTIFICATIONS_SECRET: secret })).not.toThrow(/short|secret of/);
    }
  });

  it('accept allowed targets with ports only', () => {
    const targets = ['receiver.example:8443', 'localhost:*', '127.0.0.1:80', '[::1]:*'];
    expect(read({ WEBHOOK_ALLOWED_TARGETS: targets.join(', ') }).webhookAllowedTargets).toEqual(targets);
    for (const wrong of ['localhost', '*:80', 'http://localhost:80', '10.0.0.0/8:*', '*']) {
      expect(() => read({ WEBHOOK_ALLOWED_TARGETS: wrong })).toThrow(ConfigError);
    }
  });

  it('require https in production', () => {
    expect(toWebhooksOptions(read({}), true).httpsOnly).toBe(true);
    expect(toWebhooksOptions(read({}), false).httpsOnly).toBe(false);
    expect(toWebhooksOptions(read({ WEBHOOK_HTTPS_ONLY: 'true' }), false).httpsOnly).toBe(true);
  });

  it('can scale times down, but not up', () => {
    const { failingMs, holdMs } = toWebhooksOptions(read({ WEBHOOK_TIME_SCALE: '0.001' }), true);
    expect([failingMs, holdMs]).toEqual([432_000, 2_592_000]);
    for (const wrong of ['0', '2', '-1', 'fast']) expect(() => read({ WEBHOOK_TIME_SCALE: wrong })).toThrow(ConfigError);
  });
});
