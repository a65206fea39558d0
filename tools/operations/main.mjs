// Part of `npm run openapi`: writes the tables of operations in the services' READMEs, and the accounts of the broker.
import { writeFileSync } from 'node:fs';
import { accountsFile, withAccounts } from './accounts.mjs';
import { contracts, readmeOf, withOperations } from './readme.mjs';

for (const service of Object.keys(contracts)) writeFileSync(readmeOf(service), withOperations(service));
writeFileSync(accountsFile, withAccounts());
