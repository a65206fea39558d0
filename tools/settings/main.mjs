// `npm run settings`: writes docs/settings.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';
import { reference } from './reference.mjs';

writeFileSync(join(ROOT, 'docs', 'settings.md'), await reference());
