import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { choice, ConfigError, flag, integer, neededWith, port, readConfig, secret, text, url } from './config.js';

const settings = {
  address: url('ADDRESS', ['https', 'postgres'], { description: 'where it is' }),
  level: choice('LEVEL', ['low', 'high'], { description: 'how much', default: 'low' }),
  limit: integer('LIMIT', { description: 'how many', default: '10', min: 1, max: 100 }),
  port: port('PORT', { description: 'where to listen', default: '0' }),
  demo: flag('DEMO', { description: 'whether to show off', default: 'false' }),
  note: text('NOTE', { description: 'anything', default: '' }),
  key: secret('KEY', { description: 'signs tokens' }),
};
const usable = { ADDRESS: 'https://example.test/', KEY: 'k'.repeat(32) };

const faultsOf = (environment: NodeJS.ProcessEnv): readonly string[] => {
  try {
    readConfig(settings, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
};

describe('a configuration', () => {
  it('is read with types and defaults', () => {
    expect(readConfig(settings, { ...usable, LIMIT: '7', DEMO: 'true' })).toEqual({
      address: 'https://example.test',
      level: 'low',
      limit: 7,
      port: 0,
      demo: true,
      note: '',
      key: 'k'.repeat(32),
    });
  });

  it('treats an empty variable as absent', () => {
    expect(readConfig(settings, { ...usable, LIMIT: '' }).limit).toBe(10);
    expect(faultsOf({ ...usable, KEY: '' })).toEqual(['KEY is missing (signs tokens)']);
  });

  it('is refused with all faults at once', () => {
    const faults = faultsOf({ ADDRESS: 'ftp://x', LEVEL: 'middle', LIMIT: '101', PORT: '65536', DEMO: 'yes', KEY: 'short' });
    expect(faults).toEqual([
      'ADDRESS must be a URL with https or postgres',
      'LEVEL must be one of low, high',
      'LIMIT must be a whole number from 1 to 100',
      'PORT must be a whole number from 0 to 65535',
      'DEMO must be true or false',
      'KEY must have at least 32 characters',
    ]);
    expect(faultsOf({})).toEqual(['ADDRESS is missing (where it is)', 'KEY is missing (signs tokens)']);
  });

  it.each(['1e2', '7.5', ' 7', '0x10', 'seven', '-1', '99999999999999999999'])('refuses the number %s', (LIMIT) => {
    expect(faultsOf({ ...usable, LIMIT })).toHaveLength(1);
  });

  it('reports no values in its faults: a value may be a secret in the wrong variable', () => {
    const values = { ADDRESS: 'canary-1://user:pw@h', LEVEL: 'canary-2', LIMIT: 'canary-3', DEMO: 'canary-4', KEY: 'canary-5' };
    const error = new ConfigError(faultsOf(values));
    expect(error.faults).toHaveLength(5);
    expect(error.message).not.toMatch(/canary|pw/);
  });

  it('is refused for settings that are valid each, but not together', () => {
    const together = (config: { demo: boolean }): string[] => (config.demo ? ['DEMO is refused here'] : []);
    expect(() => readConfig(settings, { ...usable, DEMO: 'true' }, together)).toThrow('DEMO is refused here');
    expect(readConfig(settings, usable, together).demo).toBe(false);
  });

  it('requires some settings only while another one has a certain value', () => {
    const kind = choice('KIND', ['near', 'far'], { description: 'how far', default: 'near' });
    const distance = neededWith(kind, 'far', integer('DISTANCE', { description: 'in miles', min: 1, max: 9 }));
    const read = (environment: NodeJS.ProcessEnv): unknown => readConfig({ kind, distance }, environment);
    expect(read({})).toEqual({ kind: 'near', distance: undefined });
    expect(read({ KIND: 'far', DISTANCE: '7' })).toEqual({ kind: 'far', distance: 7 });
    expect(read({ DISTANCE: '7' })).toEqual({ kind: 'near', distance: 7 });
    expect(() => read({ KIND: 'far' })).toThrow('DISTANCE is missing (in miles)');
    expect(() => read({ DISTANCE: '10' })).toThrow('DISTANCE must be a whole number from 1 to 9');
  });
});

describe('a setting in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(['', '\n', '\r\n'])('is the content of the file without the line end %j', (end) => {
    const read = readConfig(settings, { ADDRESS: usable.ADDRESS, KEY_FILE: file('key', `${'f'.repeat(32)}${end}`) });
    expect(read.key).toBe('f'.repeat(32));
  });

  it('is checked like any other, and an empty file is a missing value', () => {
    expect(faultsOf({ ...usable, LIMIT_FILE: file('limit', '101\n') })).toEqual(['LIMIT must be a whole number from 1 to 100']);
    expect(faultsOf({ ADDRESS: usable.ADDRESS, KEY_FILE: file('empty', '\n') })).toEqual(['KEY is missing (signs tokens)']);
    expect(readConfig(settings, { ...usable, LIMIT_FILE: file('none', '') }).limit).toBe(10);
  });

  it('is a fault if it cannot be read, or is also set as a variable', () => {
    expect(faultsOf({ ADDRESS: usable.ADDRESS, KEY_FILE: join(folder, 'nowhere') })).toEqual([
      'KEY_FILE names a file that cannot be read (ENOENT)',
    ]);
    expect(faultsOf({ ...usable, KEY_FILE: file('twice', 'k'.repeat(32)) })).toEqual([
      'KEY and KEY_FILE are both set: remove one of them',
    ]);
  });
});
