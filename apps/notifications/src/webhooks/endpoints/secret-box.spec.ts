import { describe, expect, it } from '@jest/globals';
import { SecretBox } from './secret-box.js';

const [old, present] = ['an old secret of more than 32 characters', 'the present secret, 32 characters and more'];

describe('the secret box', () => {
  it('opens what it sealed, for the same owner only', () => {
    const box = new SecretBox([present]);
    const sealed = box.seal('whsec_x', 'webhook 1');
    expect(box.open(sealed, 'webhook 1')).toBe('whsec_x');
    expect(() => box.open(sealed, 'webhook 2')).toThrow();
    expect(sealed.encrypted.toString('latin1')).not.toContain('whsec_x');
    expect(box.seal('whsec_x', 'webhook 1').encrypted).not.toEqual(sealed.encrypted);
  });

  it('detects every changed byte', () => {
    const box = new SecretBox([present]);
    const { keyId, encrypted } = box.seal('whsec_x', 'webhook 1');
    for (let at = 0; at < encrypted.length; at++) {
      const changed = Buffer.from(encrypted);
      changed[at]! ^= 1;
      expect(() => box.open({ keyId, encrypted: changed }, 'webhook 1')).toThrow();
    }
  });

  it('seals with the first key and opens with all of them', () => {
    const sealed = new SecretBox([old]).seal('whsec_x', 'webhook 1');
    const box = new SecretBox([present, old]);
    expect(box.open(sealed, 'webhook 1')).toBe('whsec_x');
    expect(box.seal('whsec_x', 'webhook 1').keyId).toBe(new SecretBox([present]).keyId);
    expect(() => new SecretBox([present]).open(sealed, 'webhook 1')).toThrow(/no longer holds/);
  });
});
