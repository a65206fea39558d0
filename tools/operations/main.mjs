// Part of `npm run openapi`: writes the tables of operations in the services' READMEs.
import { writeFileSync } from 'node:fs';
import { contracts, readmeOf, withOperations } from './readme.mjs';

for (const service of Object.keys(contracts)) writeFileSync(readmeOf(service), withOperations(service));
