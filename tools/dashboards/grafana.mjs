const COLUMNS = 3;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;
/** deploy/observability/grafana/provisioning/datasources */
const datasource = { type: 'prometheus', uid: 'prometheus' };

/** Returns the dashboard file for Grafana. @param {import('./dashboards.mjs').Dashboard} dashboard */
export function grafana({ uid, title, panels }) {
  const content = {
    uid,
    title,
    tags: ['plant-shop'],
    schemaVersion: 39,
    editable: false,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    panels: panels.map(toPanel),
  };
  return `${JSON.stringify(content, null, 1)}\n`;
}

/** @param {import('./dashboards.mjs').Panel} panel @param {number} at */
function toPanel({ title, description, unit, queries }, at) {
  return {
    id: at + 1,
    type: 'timeseries',
    title,
    description,
    datasource,
    gridPos: { w: WIDTH, h: HEIGHT, x: (at % COLUMNS) * WIDTH, y: Math.floor(at / COLUMNS) * HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(({ expr, legend }, index) => ({ refId: String.fromCharCode(65 + index), datasource, expr, legendFormat: legend })),
  };
}
