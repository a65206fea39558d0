// `npm run dashboards`: writes deploy/observability/grafana/dashboards.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';
import { dashboards } from './dashboards.mjs';
import { grafana } from './grafana.mjs';

for (const one of dashboards) {
  writeFileSync(join(ROOT, 'deploy', 'observability', 'grafana', 'dashboards', `${one.uid}.json`), grafana(one));
}
