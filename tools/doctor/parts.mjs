import { dirname, join } from 'node:path';
import { markOf, stillRuns } from '../start/processes.mjs';
import { SERVICES } from '../start/services.mjs';
import { passed, reasonOf, unknown, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */
/** @typedef {import('../start/run-file.mjs').Run & { path: string }} Shop */

const LIMIT_MS = 5_000;

/** Checks the processes of a shop of `npm start` and their health endpoints. @param {Shop} shop @returns {Promise<Finding[]>} */
export async function checkParts(shop) {
  const logs = join(dirname(shop.path), 'logs');
  const findings = [checkLauncher(shop)];
  for (const [name, part] of /** @type {const} */ ([['postgres', shop.postgres], ['nats', shop.nats]])) {
    findings.push(part ? checkProcess(name, part, logs) : unknown(name, 'your own server, or not started yet', 'see below'));
  }
  for (const service of SERVICES) {
    const leftOut = shop.leftOut?.[service];
    if (leftOut) {
      findings.push(...(await checkLeftOut(service, leftOut)));
      continue;
    }
    const replicas = shop.services[service] ?? [];
    if (replicas.length === 0) findings.push(wrong(service, 'was not started', `wait, or read ${dirname(shop.path)}/logs`));
    for (const replica of replicas) findings.push(...(await checkReplica(replica, logs)));
  }
  return findings;
}

/** @param {Shop} shop */
function checkLauncher({ pid, path }) {
  if (markOf(pid)) return passed('launcher', `process ${pid}`);
  return wrong('launcher', `was killed (process ${pid}) and left ${path}`, 'npm start ends the processes that it left behind and starts a new shop');
}

/** @param {string} name @param {Partial<import('../start/processes.mjs').Mark>} part @param {string} logs @returns {Finding} */
function checkProcess(name, { pid, began }, logs) {
  if (pid !== undefined && began !== undefined && stillRuns({ pid, began })) return passed(name, `process ${pid}`);
  return wrong(name, `is not running${pid === undefined ? '' : ` (it was process ${pid})`}`, `the launcher restarts it; if it does not: ${join(logs, `${name}.log`)}`);
}

/** Checks a service that the user runs (npm start -- --without). @param {string} service @param {NonNullable<Shop['leftOut']>[string]} leftOut @returns {Promise<Finding[]>} */
async function checkLeftOut(service, { environment, opsPort }) {
  const url = `http://127.0.0.1:${opsPort}`;
  try {
    await get(`${url}/livez`);
  } catch {
    return [unknown(service, 'was left out, and yours is not running', `run it with the environment in ${environment}`)];
  }
  return [passed(service, 'was left out, and yours is running'), ...(await checkHealth(service, url, dirname(environment)))];
}

/** @param {Shop['services'][string][number]} replica @param {string} logs @returns {Promise<Finding[]>} */
async function checkReplica(replica, logs) {
  const { label, opsPort } = replica;
  const alive = checkProcess(label, replica, logs);
  if (alive.state !== 'passed') return [alive];
  return [alive, ...(await checkHealth(label, `http://127.0.0.1:${opsPort}`, logs))];
}

/** @param {string} label @param {string} url of the operations port @param {string} logs @returns {Promise<Finding[]>} */
export async function checkHealth(label, url, logs) {
  const log = join(logs, `${label}.log`);
  try {
    const live = await get(`${url}/livez`);
    if (live.status !== 200) return [wrong(`${label} /livez`, `answered ${live.status}`, `read ${log}`)];
  } catch (error) {
    return [wrong(`${label} /livez`, `no answer (${reasonOf(error)})`, `it hangs or is still starting: ${log}`)];
  }
  try {
    const { checks } = /** @type {{ checks: Record<string, string> }} */ (JSON.parse((await get(`${url}/readyz`)).body));
    const missing = Object.entries(checks).filter(([, outcome]) => outcome !== 'ok');
    if (missing.length === 0) return [passed(`${label} /readyz`, `all its dependencies are ready (${Object.keys(checks).join(', ')})`)];
    return missing.map(([what, outcome]) => wrong(`${label} requires ${what}`, outcome, remedyOf(what, outcome)));
  } catch (error) {
    return [wrong(`${label} /readyz`, `unreadable answer (${reasonOf(error)})`, `read ${log}`)];
  }
}

/** @param {string} what @param {string} outcome */
function remedyOf(what, outcome) {
  if (outcome.includes('migrations are pending')) return 'stop the shop, then npm start: it migrates first';
  if (outcome.includes('deny subscribing')) return 'compare the accounts of your NATS server with deploy/nats/nats.conf';
  if (what === 'nats') return 'check that the server runs and that user and password are right; see NATS below';
  if (what === 'database') return 'check that the server runs and accepts the role; see databases below';
  if (what === 'shutdown') return 'nothing: it is shutting down';
  return 'wait; if it stays, read its log';
}

/** @param {string} url */
async function get(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
  return { status: response.status, body: await response.text() };
}

/** Returns the operations ports of all running services. @param {Shop} shop @returns {{ label: string, url: string }[]} */
export const operationsOf = (shop) =>
  Object.values(shop.services).flat().map(({ label, opsPort }) => ({ label, url: `http://127.0.0.1:${opsPort}` }));
