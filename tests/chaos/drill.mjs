// `npm run drill`: restores the store's database to a point in time, beside the other services, by the commands of the runbook
// (docs/operations.md): each has a counterpart here, with processes in place of pods. Then it explains what is gone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ResumingSocket } from '@plant-shop/testing/stream';
import { becomesTrue, until } from '@plant-shop/testing/until';
import { attempt } from '../../tools/start/command.mjs';
import { answers } from '../../tools/start/readiness.mjs';
import { pinnedNode, ROOT } from '../../tools/start/toolchain.mjs';
import { ordersOf, Traffic } from '../deploy/artefacts/rolling.mjs';
import { asAdmin } from './backup.mjs';
import { staffKey } from './dist/client.js';
import { unexplained } from './dist/drill.js';

const SUPPLIED = 1_000_000;
/** Longer than the stream needs to notice that the store's feed has another history. */
const SETTLE_LIMIT_MS = 60_000;

/**
 * @param {import('./stack.mjs').Stack} stack with one replica of each service
 * @param {{ seconds: number, say: (line: string) => void }} options seconds: of traffic, each time
 * @returns {Promise<boolean>} whether everything that differs is explained
 */
export async function drill(stack, { seconds, say }) {
  const key = staffKey.apiKey;
  const portOf = (/** @type {string} */ service) => stack.instances.find((one) => one.service === service)?.port;
  const url = `http://127.0.0.1:${portOf('gateway')}`;
  const ask = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {object | undefined} */ json = undefined) => {
    const response = await fetch(url + path, { method, headers: { api_key: key, ...(json && { 'content-type': 'application/json' }) }, ...(json && { body: JSON.stringify(json) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const supply = async (/** @type {string} */ name, /** @type {number} */ free) => {
    const { id } = await ask('POST', '/v3/plant', { name, photoUrls: [], status: 'available' });
    await until(() => ask('PUT', `/v3/store/inventory/${id}`, { free }).then(() => true, () => false), SETTLE_LIMIT_MS);
    return /** @type {number} */ (id);
  };
  const sell = async () => {
    const traffic = new Traffic({ url, key, plantId });
    await pause(seconds * 1_000);
    await traffic.stop();
    return traffic;
  };
  const socket = new ResumingSocket({ nextUrl: () => `ws://127.0.0.1:${portOf('notifications')}`, apiKey: key });
  const [plantId, deleted] = [await supply('Monstera', SUPPLIED), await supply('Ficus', 1)];

  const backup = await stack.backUp();
  try {
    say(`Backed up; ${seconds} s of orders, then the time to restore to, then ${seconds} s more`);
    const { approved: kept } = await sell();
    const at = await asAdmin(stack.adminUrl, async (client) => /** @type {Date} */ ((await client.query('SELECT clock_timestamp() AS now')).rows[0].now));
    await pause(1_000);
    const { approved: gone } = await sell();
    const created = await supply('Calathea', 5);
    await ask('DELETE', `/v3/plant/${deleted}`);
    const expectedFindings = [`stock-missing ${created}`, `plant-missing ${deleted}`];
    await until(() => kept.union(gone).isSubsetOf(ordersOf(socket)), SETTLE_LIMIT_MS);
    await backup.complete();

    const [gateway, store] = ['gateway', 'store'].map((service) => stack.instances.filter((one) => one.service === service).map(({ label }) => label));
    let restored = '';
    /** @type {string[][]} */
    const findings = [];
    const reconcile = async (/** @type {string[]} */ ...args) => {
      const { code, output } = await attempt(pinnedNode(), ['tools/reconcile/main.mjs', '--json', ...args], { cwd: ROOT, env: { ...process.env, RUN_FILE: stack.runFile.path } });
      if (code === 2) throw new Error(output);
      const rows = output.split('\n').filter((line) => line.startsWith('{"') && line.includes('"drift"')).map((line) => JSON.parse(line));
      findings.push(rows.map(({ drift, plantId: plant, userId, orderId }) => `${drift} ${plant ?? userId ?? orderId ?? ''}`));
    };
    /** @type {Record<string, () => Promise<unknown>>} */
    const counterparts = {
      'kubectl scale deployment/gateway deployment/store --replicas=0': () => stack.stop(...(gateway ?? []), ...(store ?? [])),
      'kubectl delete cluster store-db': () => asAdmin(stack.adminUrl, (client) => client.query('DROP DATABASE store WITH (FORCE)')),
      'kubectl apply -k deploy/postgres/overlays/production-recovery --selector app.kubernetes.io/name=store-db': async () => (restored = await backup.restore(at)),
      'kubectl wait cluster/store-db --for=condition=Ready --timeout=1h': () => asAdmin(restored, (client) => client.query('CHECKPOINT')),
      'sh deploy/release.sh store production': () => stack.moveDatabase('store', restored),
      'kubectl scale deployment/store --replicas=2': () => stack.start(...(store ?? [])),
      'kubectl apply -k deploy/store/reconcile && kubectl wait job/reconcile --for=condition=Complete; kubectl logs job/reconcile': () => reconcile('--dry-run'),
      "kubectl delete job/reconcile; kubectl kustomize deploy/store/reconcile | sed '/--dry-run/d' | kubectl apply --filename -": () => reconcile(),
      'kubectl scale deployment/gateway --replicas=2': () => stack.start(...(gateway ?? [])),
    };
    for (const command of runbook()) {
      const step = counterparts[command];
      if (step === undefined) throw new Error(`The drill has no counterpart of this command of the runbook: ${command}`);
      const begun = performance.now();
      await step();
      say(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${command}`);
    }

    const read = await asAdmin(Object.assign(new URL(restored), { pathname: '/store' }).href, async (client) => {
      const paid = `status IN ('approved', 'delivered')`;
      const { rows: orders } = await client.query(`SELECT id FROM orders WHERE plant_id = $1 AND ${paid}`, [plantId]);
      const { rows: [held] } = await client.query(
        `SELECT free, reserved, sold, (SELECT count(*) FROM orders o WHERE o.plant_id = s.plant_id AND ${paid}) AS paid, (SELECT count(*) FROM orders o WHERE o.plant_id = s.plant_id AND status = 'placed') AS open
         FROM stock s WHERE plant_id = $1`,
        [plantId],
      );
      return { orders: new Set(orders.map(({ id }) => Number(id))), held: Object.fromEntries(Object.entries(held).map(([name, value]) => [name, Number(value)])) };
    });
    await answers(`${url}/readyz`, { limitMs: SETTLE_LIMIT_MS, signal: stack.signal });
    const uncounted = await ask('GET', '/v3/store/uncounted');
    await ask('PUT', `/v3/store/inventory/${created}`, { free: 5 });
    const seen = socket.events.length;
    const { approved: sold, failures, answered } = await sell();
    const followed = () => new Set(socket.events.slice(seen).map(({ body }) => JSON.parse(body).data.orderId));
    await becomesTrue(() => sold.isSubsetOf(followed()), SETTLE_LIMIT_MS);
    await reconcile();

    say(`Gone: ${gone.size} paid orders of the ${seconds} s after ${at.toISOString()}, of which stream clients have events; ${kept.size} before it are there.`);
    say(`Counted again: ${JSON.stringify(uncounted)}`);
    say(`Repaired: ${findings[1]?.join(', ')}`);
    say(`Since then: ${answered} requests, ${failures.length} failed; ${sold.size} orders paid; order ids used twice: ${sold.intersection(gone).size}; gaps told: ${socket.gaps.join(', ') || 'none'}`);
    const lines = unexplained({
      kept, gone, restored: read.orders, sold, followed: followed(), failures, expectedFindings,
      stock: /** @type {any} */ ({ supplied: SUPPLIED, ...read.held }),
      findings: findings[0] ?? [],
      findingsAfterRepair: findings[2] ?? [],
      gaps: socket.gaps,
      disconnections: socket.closes.length,
    });
    for (const line of lines) say(`UNEXPLAINED: ${line}`);
    return lines.length === 0;
  } finally {
    socket.stop();
    await backup.end();
  }
}

/** The commands of the runbook, without their comments. */
function runbook() {
  const section = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').split('\n## ').find((one) => one.startsWith('Restore from a backup\n')) ?? '';
  return (/^```\n([^]*?)^```/m.exec(section)?.[1] ?? '').trim().split('\n').map((line) => line.replace(/ +#.*/, ''));
}
