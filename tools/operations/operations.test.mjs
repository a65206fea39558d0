import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { accountsFile, withAccounts } from './accounts.mjs';
import { contracts, readmeOf, withOperations } from './readme.mjs';

for (const service of Object.keys(contracts)) {
  test(`the README of ${service} has a current table of operations: otherwise run \`npm run openapi\``, () => {
    assert.equal(readFileSync(readmeOf(service), 'utf8'), withOperations(service));
  });
}

test('the broker has the accounts that follow from the contracts: otherwise run `npm run openapi`', () => {
  assert.equal(readFileSync(accountsFile, 'utf8'), withAccounts());
});
