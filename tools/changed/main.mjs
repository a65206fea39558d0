// Which services' images differ from those of another commit, as a JSON list for CI: node tools/changed/main.mjs <commit>
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { changedFiles, changedServices } from './changed.mjs';

const [since = ''] = process.argv.slice(2);
const files = changedFiles(ROOT, since);
console.log(JSON.stringify(files === undefined ? SERVICES : changedServices(ROOT, files)));
