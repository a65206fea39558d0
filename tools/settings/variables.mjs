// Prints the variables that a service reads, as JSON: `node tools/settings/variables.mjs store`.
import { settingsOf } from './reference.mjs';

console.log(JSON.stringify((await settingsOf(process.argv[2] ?? '')).map(({ variable }) => variable)));
