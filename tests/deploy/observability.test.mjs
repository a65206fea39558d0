import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dashboards } from '../../tools/dashboards/dashboards.mjs';
import { generated } from '../../tools/dashboards/generated.mjs';
import { objectives } from '../../tools/dashboards/objectives.mjs';
import { LIMITS } from '../../tools/doctor/lag.mjs';
import { attempt } from '../../tools/start/command.mjs';
import { fetchBinary } from '../../tools/start/debian-package.mjs';
import { onPath } from '../../tools/start/path.mjs';
import { cacheFolder } from '../../tools/start/system-user.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { exposedMetrics, metricsOf } from './metrics.mjs';
import { textOf, yamlOf } from './services.mjs';

const exposed = exposedMetrics();
const folder = 'deploy/observability/grafana/dashboards';
const RULES = ['rules/plant-shop.yml', 'rules/objectives.yml', 'cluster-rules.yml'].map((file) => `deploy/observability/${file}`);
/** @type {{ record?: string, alert: string, expr: string, labels: { severity: string }, annotations: { summary: string, runbook_url: string } }[]} */
const all = RULES.flatMap((file) => yamlOf(file).groups.flatMap((/** @type {any} */ group) => group.rules));
const rules = all.filter(({ record }) => record === undefined);
const recorded = new Set(all.map(({ record }) => record));

/** Metrics of others: the NATS chart's exporter (`-varz`, prefix `nats`), kube-state-metrics, CloudNativePG and its plug-in; a setting of JetStream. */
const ofOthers = [
  'nats_varz_routes',
  'kube_pod_container_status_waiting_reason',
  'kube_deployment_status_condition',
  'kube_job_status_failed',
  'cnpg_collector_pg_wal_archive_status',
  'cnpg_pg_replication_in_recovery',
  'cnpg_pg_replication_is_wal_receiver_up',
  'barman_cloud_cloudnative_pg_io_last_available_backup_timestamp',
  'max_msg_size',
];

/** @param {string} query */
const unknownIn = (query) => metricsOf(query).filter((name) => !exposed.has(name) && !recorded.has(name) && !ofOthers.includes(name));

/** Returns the anchors that repository hosts derive from headings. @param {string} page */
const anchorsOf = (page) =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase().replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-'));

/** @param {string} link path and anchor, from the root */
function isThere(link) {
  const [page = '', anchor] = link.split('#');
  return existsSync(join(ROOT, page)) && (anchor === undefined || anchorsOf(page).includes(anchor));
}

test('metric names are found in sources and queries', () => {
  for (const name of ['http_request_duration_seconds', 'feed_follower_lag', 'store_orders_waiting', 'stream_held', 'rpc_in_flight', 'nodejs_eventloop_lag_p99_seconds']) {
    assert.ok(exposed.has(name), name);
  }
  assert.ok(!exposed.has('feed_follower_lags'));
  const query = 'histogram_quantile(0.95, sum by (le, service) (rate(a_seconds_bucket{x=~"b_c"}[5m]))) > 1 and absent(d_total) or on (e) f_count';
  assert.deepEqual(metricsOf(query), ['a_seconds', 'd_total', 'f']);
});

test('dashboards use only metrics that a service exposes', () => {
  for (const { panels } of dashboards) {
    for (const { title, queries } of panels) for (const { expr } of queries) assert.deepEqual(unknownIn(expr), [], `${title}: ${expr}`);
  }
});

test('the generated files are current: otherwise run `npm run dashboards`', () => {
  assert.deepEqual(readdirSync(join(ROOT, folder)).sort(), ['README.md', ...dashboards.map(({ uid }) => `${uid}.json`)].sort());
  for (const [file, content] of generated()) assert.equal(textOf(`deploy/observability/${file}`), content, file);
});

test('a cluster gets every alert and every dashboard, and scrapes what they need', () => {
  const { spec } = yamlOf('deploy/observability/prometheus-rule.yaml');
  assert.deepEqual(spec.groups.flatMap((/** @type {any} */ group) => group.rules).length, all.length);
  const [{ files }] = yamlOf('deploy/observability/kustomization.yaml').configMapGenerator;
  assert.deepEqual([...files].sort(), dashboards.map(({ uid }) => `grafana/dashboards/${uid}.json`).sort());
});

test('each objective counts operations that exist', () => {
  const operations = Object.values(JSON.parse(textOf('docs/api/openapi.json')).paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  for (const { name, total } of objectives) {
    for (const [, pattern = ''] of total.matchAll(/operation=~"([^"]+)"/g)) assert.ok(operations.some((one) => new RegExp(`^${pattern}$`).test(one)), name);
  }
});

const promtool = await findPromtool();
const skip = promtool === undefined && 'there is no promtool here, and none to fetch (Debian\'s prometheus)';

async function findPromtool() {
  const cached = join(cacheFolder(undefined), 'promtool');
  if (onPath('promtool') !== undefined || existsSync(cached)) return onPath('promtool') ?? cached;
  return (await fetchBinary({ name: 'prometheus', binary: 'promtool' }, cached, { signal: AbortSignal.timeout(120_000), say: console.log })) ? cached : undefined;
}

test('Prometheus accepts all rules', { skip }, async () => {
  const { code, output } = await attempt(String(promtool), ['check', 'rules', ...RULES.map((file) => join(ROOT, file))]);
  assert.equal(code, 0, output);
});

/** 60 requests a second, by the minute: for six hours none fails, then a share. @param {number} share */
const traffic = (share) => {
  const [good, bad] = [`0+3600x360 ${3_600 * 360}+${3_600 * (1 - share)}x400`, `0x360 0+${3_600 * share}x400`];
  return ['count', 'bucket'].flatMap((what) =>
    [['200', good], ['503', bad]].map(([status, values]) => ({ series: `http_request_duration_seconds_${what}{operation="placeOrder",status="${status}"${what === 'bucket' ? ',le="1"' : ''}}`, values })));
};

/** @type {[what: string, share: number, at: string, fast: boolean][]} */
const BURNS = [
  ['one request in fifty fails for an hour', 0.02, '7h5m', true],
  // Slower than the first window tells, but more than a twentieth of the budget within six hours.
  ['seven requests in a thousand fail for six hours', 0.007, '12h5m', true],
  ['seven requests in a thousand fail for an hour', 0.007, '7h', false],
  ['less fails than the budget allows', 0.0005, '12h5m', false],
];

for (const [what, share, at, fast] of BURNS) {
  test(`the budget of placing orders ${fast ? 'burns fast' : 'does not burn fast'} if ${what}`, { skip }, async () => {
    const work = mkdtempSync(join(tmpdir(), 'plant-shop-rules-'));
    try {
      const alert = { exp_labels: { severity: 'page', objective: 'placing-answered' } };
      const annotations = rules.find((one) => one.alert === 'BudgetBurnsFast')?.annotations;
      const expected = fast ? [{ ...alert, exp_annotations: { ...annotations, summary: annotations?.summary.replace('{{ $labels.objective }}', 'placing-answered') } }] : [];
      writeFileSync(join(work, 'test.yml'), JSON.stringify({
        rule_files: [join(ROOT, 'deploy/observability/rules/objectives.yml')],
        evaluation_interval: '1m',
        tests: [{ interval: '1m', input_series: traffic(share), alert_rule_test: [{ eval_time: at, alertname: 'BudgetBurnsFast', exp_alerts: expected }] }],
      }));
      const { code, output } = await attempt(String(promtool), ['test', 'rules', join(work, 'test.yml')]);
      assert.equal(code, 0, output);
    } finally {
      rmSync(work, { recursive: true });
    }
  });
}

test('alerts use only exposed metrics, and link an existing runbook', () => {
  assert.ok(rules.length > 0);
  for (const { alert, expr, labels, annotations } of rules) {
    assert.deepEqual(unknownIn(expr), [], alert);
    assert.match(labels.severity, /^(page|ticket)$/, alert);
    assert.ok(annotations.summary, alert);
    assert.ok(isThere(annotations.runbook_url), `${alert}: ${annotations.runbook_url} does not exist`);
  }
});

test('the doctor, the dashboards and the runbooks name only existing metrics, alerts and runbooks', () => {
  const alerts = rules.map(({ alert }) => alert);
  for (const { metric, remedy } of LIMITS) assert.ok(exposed.has(metric) && isThere(remedy), `${metric}: ${remedy}`);
  const named = dashboards.flatMap(({ panels }) => panels.flatMap(({ description }) => [...description.matchAll(/[Aa]lert (\w+)/g)].map(([, alert]) => alert)));
  assert.deepEqual(named.filter((alert) => !alerts.includes(alert ?? '')), []);
  const page = textOf('docs/operations.md');
  for (const alert of alerts) assert.ok(page.includes(`\`${alert}\``), `docs/operations.md does not name ${alert}`);
  for (const name of page.match(/`(?!pg_)[a-z]+(_[a-z]+){2,}`/g) ?? []) assert.ok(exposed.has(name.slice(1, -1)) || ofOthers.includes(name.slice(1, -1)), `docs/operations.md names ${name}`);
});
