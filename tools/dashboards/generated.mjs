import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';
import { dashboards } from './dashboards.mjs';
import { grafana } from './grafana.mjs';
import { objectiveRules } from './objectives.mjs';
import { prometheusRule } from './prometheus-rule.mjs';

/** Returns the generated files of deploy/observability. @returns {Map<string, string>} by path */
export function generated() {
  const rules = objectiveRules();
  const written = ['rules/plant-shop.yml', 'cluster-rules.yml'].map((file) => readFileSync(join(ROOT, 'deploy/observability', file), 'utf8'));
  return new Map([
    ...dashboards.map((one) => /** @type {const} */ ([`grafana/dashboards/${one.uid}.json`, grafana(one)])),
    ['rules/objectives.yml', rules],
    ['prometheus-rule.yaml', prometheusRule([...written, rules])],
  ]);
}
