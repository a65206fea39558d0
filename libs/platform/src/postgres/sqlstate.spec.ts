import { describe, expect, it } from '@jest/globals';
import { CodedError } from '../errors.js';
import { type DatabasePhase, isDataError, isRetryable, translateDatabaseError } from './sqlstate.js';

const sql = (code: string): Error => Object.assign(new Error(`SQLSTATE ${code}`), { code });
const codeOf = (error: unknown, during: DatabasePhase): string => {
  const translated = translateDatabaseError(error, during);
  return translated instanceof CodedError ? translated.code : 'unchanged';
};

describe('a database error', () => {
  it.each([
    ['a server that shuts down', sql('57P01')],
    ['a server that crashed', sql('57P02')],
    ['a reset connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
    ['a connection that ended', new Error('Connection terminated unexpectedly')],
    ['a server that no longer answers', new Error('Query read timeout')],
  ])('(%s) is unavailable, or outcome-unknown at a COMMIT', (_what, error) => {
    expect(codeOf(error, 'connect')).toBe('unavailable');
    expect(codeOf(error, 'work')).toBe('unavailable');
    expect(codeOf(error, 'commit')).toBe('outcome-unknown');
  });

  it.each([
    ['a statement that took too long', sql('57014')],
    ['a lock that took too long', sql('55P03')],
    ['a full disk', sql('53100')],
    ['too many connections', sql('53300')],
    ['a read-only server, after a failover', sql('25006')],
    ['a connection known to be dead', new Error('Client has encountered a connection error and is not queryable')],
  ])('(%s) is unavailable at any time, also at a COMMIT', (_what, error) => {
    expect(codeOf(error, 'work')).toBe('unavailable');
    expect(codeOf(error, 'commit')).toBe('unavailable');
  });

  it('without a connection is always unavailable', () => {
    expect(codeOf(sql('28P01'), 'connect')).toBe('unavailable');
    expect(codeOf(new Error('anything'), 'connect')).toBe('unavailable');
  });

  it.each([sql('23505'), sql('22003'), sql('42601'), new Error('a defect'), new CodedError('order-not-found', 'x')])(
    'of the statement itself is not translated: %s',
    (error) => {
      expect(codeOf(error, 'work')).toBe(error instanceof CodedError ? 'order-not-found' : 'unchanged');
      expect(translateDatabaseError(error, 'commit')).toBe(error);
    },
  );

  it('is retryable after a deadlock or a serialisation failure only', () => {
    expect(['40P01', '40001', '23505', '57P01'].map((code) => isRetryable(sql(code)))).toEqual([true, true, false, false]);
  });

  it('is a data error in classes 22 and 23 only', () => {
    expect(['22003', '23505', '40P01', '42601'].map((code) => isDataError(sql(code)))).toEqual([true, true, false, false]);
    expect(isDataError(new Error('x'))).toBe(false);
  });
});
