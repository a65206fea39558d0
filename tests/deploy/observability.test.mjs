import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dashboards } from '../../tools/dashboards/dashboards.mjs';
import { grafana } from '../../tools/dashboards/grafana.mjs';
import { LIMITS } from '../../tools/doctor/lag.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { exposedMetrics, metricsOf } from './metrics.mjs';
import { textOf, yamlOf } from './services.mjs';

const exposed = exposedMetrics();
const folder = 'deploy/observability/grafana/dashboards';
/** @type {{ alert: string, expr: string, labels: { severity: string }, annotations: { summary: string, runbook_url: string } }[]} */
const rules = yamlOf('deploy/observability/rules/plant-shop.yml').groups.flatMap((/** @type {any} */ group) => group.rules);

/** Metrics of the NATS chart's exporter (`-varz`, prefix `nats`). */
const ofNats = ['nats_varz_routes'];

/** @param {string} query */
const unknownIn = (query) => metricsOf(query).filter((name) => !exposed.has(name) && !ofNats.includes(name));

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

test('the files of the dashboards are current: otherwise run `npm run dashboards`', () => {
  assert.deepEqual(readdirSync(join(ROOT, folder)).sort(), ['README.md', ...dashboards.map(({ uid }) => `${uid}.json`)].sort());
  for (const one of dashboards) assert.equal(textOf(`${folder}/${one.uid}.json`), grafana(one));
});

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
  for (const name of page.match(/`(?!pg_)[a-z]+(_[a-z]+){2,}`/g) ?? []) assert.ok(exposed.has(name.slice(1, -1)) || ofNats.includes(name.slice(1, -1)), `docs/operations.md names ${name}`);
});
