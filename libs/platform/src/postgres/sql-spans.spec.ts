import { describe, expect, it } from '@jest/globals';
import { summaryOf } from './sql-spans.js';

describe('the span name of a statement', () => {
  it.each([
    [{ name: 'write-placed-orders', text: 'WITH placed AS (SELECT 1) SELECT 1' }, 'write-placed-orders'],
    ['BEGIN', 'BEGIN'],
    ['SELECT 1', 'SELECT'],
    [{ text: "SELECT id FROM orders WHERE owner_id = 'ada'" }, 'SELECT orders'],
    ['  -- a comment, FROM nowhere\n  UPDATE feed_head SET head = $1', 'UPDATE feed_head'],
    ['INSERT INTO "plants"("id") VALUES ($1)', 'INSERT plants'],
    ['SELECT "c"."id", (SELECT name FROM owners WHERE id = "c"."owner_id") AS "name" FROM "clients" "c"', 'SELECT clients'],
    ['SELECT EXISTS (SELECT 1 FROM boxes)', 'SELECT boxes'],
    ["SELECT pg_notify('x', 'p@ss')", 'SELECT'],
  ])('%j: %s', (statement, summary) => expect(summaryOf(statement)).toBe(summary));

  it('is undefined for anything other than a statement', () => {
    expect(summaryOf({ submit: () => undefined })).toBeUndefined();
    expect(summaryOf(undefined)).toBeUndefined();
  });
});
