import { writeFileSync } from 'node:fs';
import { makeDocument } from './document.js';

// `npm run asyncapi`: regenerates docs/api/asyncapi.json, as it is served at the default address.

const file = new URL('../../../../docs/api/asyncapi.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(makeDocument('ws://127.0.0.1:8081'), null, 2)}\n`);
