// `npm run dashboards`: writes the generated files in deploy/observability.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';
import { generated } from './generated.mjs';

for (const [file, content] of generated()) writeFileSync(join(ROOT, 'deploy', 'observability', file), content);
