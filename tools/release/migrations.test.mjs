import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edited, faultsOf, unreleased } from './migrations.mjs';

test('released migrations are never edited', () => assert.deepEqual(edited(), []));

test('unreleased migrations are compatible with the previous release, which serves while they run', () => {
  const faults = unreleased().flatMap(({ file, sql }) => faultsOf(sql).map((fault) => `${file} ${fault}`));
  assert.deepEqual(faults, [], 'expand first and contract one release later, or give the reason in `-- contract: `');
});

for (const [sql, fault] of /** @type {const} */ ([
  ['ALTER TABLE orders DROP COLUMN carrier;', 'drops what'],
  ['DROP TABLE orders;', 'drops what'],
  ['ALTER TABLE orders\n  ADD COLUMN note text,\n  RENAME COLUMN carrier TO by;', 'renames'],
  ['ALTER TABLE orders RENAME TO purchases;', 'renames'],
  ['ALTER TABLE orders ALTER COLUMN quantity TYPE integer;', 'changes a type'],
  ['ALTER TABLE orders ALTER quantity SET DATA TYPE integer;', 'changes a type'],
  ['ALTER TABLE orders ALTER COLUMN carrier SET NOT NULL;', 'rejects rows'],
  ['ALTER TABLE orders ALTER COLUMN placed_at DROP DEFAULT;', 'a default'],
  ['ALTER TABLE orders ADD COLUMN note text NOT NULL;', 'does not fill'],
  ['ALTER TABLE orders ADD CONSTRAINT small CHECK (quantity < 9);', 'NOT VALID'],
  ['CREATE INDEX orders_by_plant ON orders (plant_id);', 'index'],
  ['-- It is used no more.\nTRUNCATE orders;', 'deletes rows'],
])) {
  test(`refused: ${sql.replaceAll(/\s+/g, ' ')}`, () => {
    const faults = faultsOf(sql);
    assert.equal(faults.length, 1, faults.join());
    assert.match(faults[0] ?? '', new RegExp(fault));
  });
}

for (const sql of [
  'CREATE TABLE notes (id bigint PRIMARY KEY, text text NOT NULL);\nCREATE INDEX notes_by_text ON notes (text);\nALTER TABLE notes ALTER COLUMN text DROP DEFAULT;',
  "ALTER TABLE orders ADD COLUMN note text, ADD COLUMN kind text NOT NULL DEFAULT 'plain';",
  'ALTER TABLE orders ADD CONSTRAINT small CHECK (quantity < 9) NOT VALID;',
  'ALTER TABLE orders ADD COLUMN position bigint GENERATED ALWAYS AS IDENTITY NOT NULL;',
  '-- contract: 0.1.0 was the last that wrote it.\nALTER TABLE orders DROP COLUMN carrier;',
  'CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DROP TABLE t; END $$;',
  '-- DROP TABLE orders;',
  'CREATE UNIQUE INDEX CONCURRENTLY orders_by_plant ON orders (plant_id);',
  'CREATE TRIGGER all_stay BEFORE TRUNCATE ON orders EXECUTE FUNCTION refuse();',
]) {
  test(`allowed: ${sql.replaceAll(/\s+/g, ' ')}`, () => assert.deepEqual(faultsOf(sql), []));
}

test('an explanation exempts only its own statement', () => {
  assert.equal(faultsOf('-- contract: unused.\nDROP TABLE a;\nDROP TABLE b;').length, 1);
});
