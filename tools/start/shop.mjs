import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { banner } from './banner.mjs';
import { givenBroker, ownBroker, ownJetStream } from './broker.mjs';
import { run } from './command.mjs';
import { DATABASES, loadCredentials } from './credentials.mjs';
import { DataDir } from './data-dir.mjs';
import { addDemoData } from './demo-data.mjs';
import { givenDatabases, ownDatabases, ownerVariable } from './databases.mjs';
import { StartError } from './errors.mjs';
import { Held, takeLock } from './lock.mjs';
import { startMailCatcher } from './mail-catcher.mjs';
import { findNats } from './nats-binary.mjs';
import { endOrphans } from './orphans.mjs';
import { instructions, writeEnvironment } from './own-process.mjs';
import { claimPorts } from './ports.mjs';
import { majorOf } from './postgres.mjs';
import { answers } from './readiness.mjs';
import { RunFile } from './run-file.mjs';
import { migrateOf, serviceProcess } from './service-process.mjs';
import { environmentOf, planInstances, SERVICES } from './services.mjs';
import { together } from './shutdown.mjs';
import { checkPlatform, pinnedNode, readyToolchain, ROOT } from './toolchain.mjs';
import { Watch } from './watch.mjs';

const READY_LIMIT_MS = 90_000;

/**
 * Context that the parts of a starting shop share.
 * @typedef {object} Site
 * @property {AbortController} stop ends the shop; aborted by a signal or a failure
 * @property {import('./shutdown.mjs').Shutdown<typeof import('./shutdown.mjs').ORDER[number]>} shutdown
 * @property {import('./screen.mjs').Screen} screen
 * @property {DataDir} dataDir
 * @property {RunFile} runFile
 * @property {Watch} watch
 * @property {import('./credentials.mjs').Credentials} credentials
 */

/**
 * Starts everything and returns when the shop responds.
 * @param {import('./options.mjs').Options} options
 * @param {Pick<Site, 'stop' | 'shutdown' | 'screen'>} means
 */
export async function openShop(options, means) {
  const begun = performance.now();
  const { stop, shutdown, screen } = means;
  const say = (/** @type {string} */ message) => screen.say(message);
  checkPlatform();

  // Services and migrations inherit it.
  if (options.sandbox) process.env['SANDBOX'] = 'true';
  const dataDir = new DataDir(process.env['DATA_DIR'] || join(ROOT, '.data', ...(options.sandbox ? ['sandbox'] : [])));
  dataDir.create();
  shutdown.add('lock', lock(dataDir));
  await endOrphans(dataDir, say);
  const ports = await claimPorts({ GATEWAY_PORT: 8080, STREAM_PORT: 8081 }, process.env);
  const jetstreamPort = options.jetstream ? (await claimPorts({ JETSTREAM_PORT: 4223 }, process.env)).JETSTREAM_PORT : undefined;
  // Not by the IP address: browsers have no passkeys there.
  const gatewayUrl = `http://localhost:${ports.GATEWAY_PORT}`;
  const streamUrl = `ws://127.0.0.1:${ports.STREAM_PORT}`;
  const given = givenDatabases(process.env);
  if (options.fresh) dataDir.empty();
  dataDir.create();

  const runFile = new RunFile(dataDir.runFile);
  shutdown.add('run file', () => runFile.remove());
  runFile.update({ gatewayUrl, streamUrl });
  const isNew = !given && majorOf(dataDir.postgres) === undefined;
  const credentials = loadCredentials(dataDir.credentials, { needed: !given && !isNew });
  /** @type {Site} */
  const site = { ...means, dataDir, runFile, watch: new Watch(stop, screen), credentials };

  // Before the installation, so that a missing NATS server is reported at once.
  const nats = givenBroker(process.env) ?? (await findNats({ signal: stop.signal, say }));
  const [env, databases, broker, jetstream] = await together(stop, [
    readyToolchain({ signal: stop.signal, say }),
    given ?? ownDatabases(site),
    'url' in nats ? nats : ownBroker(site, nats),
    jetstreamPort === undefined ? undefined : ownJetStream(site, 'url' in nats ? await findNats({ signal: stop.signal, say }) : nats, jetstreamPort),
  ]);
  const mail = await catchMails(site, env);
  const instances = await planInstances(options.replicas, ports);
  const publicUrl = process.env['PUBLIC_URL'] || gatewayUrl;
  const streamPublicUrl = process.env['STREAM_PUBLIC_URL'] || undefined;
  const wiring = { instances, smtpUrl: mail?.smtpUrl, databaseUrls: databases.urls, databaseCa: databases.ca, broker, credentials, publicUrl, streamPublicUrl };
  const processes = instances.map((instance) => ({ instance, env: environmentOf(instance, wiring, env) }));
  await migrate(site, processes, databases);
  const isOurs = (/** @type {Planned} */ { instance }) => !options.without.includes(instance.service);
  const ours = processes.filter(isOurs);
  const leftOut = await leaveOut(site, processes.filter((one) => !isOurs(one)), databases, env);
  startServices(site, ours);
  const ready = (/** @type {string} */ url, /** @type {(body: string) => boolean} */ isEnough) =>
    answers(`${url}/readyz`, { limitMs: READY_LIMIT_MS, signal: stop.signal, isEnough });
  const isLeftOut = (/** @type {string} */ service) => leftOut.some((one) => one.service === service);
  await together(stop, [
    ...ours.map(({ instance }) => ready(`http://127.0.0.1:${instance.opsPort}`, (body) => leftOut.length > 0 && hasStarted(body))),
    // The gateway asks one replica of each service. Without identity, whose revocations it follows, it never becomes ready.
    ...(isLeftOut('gateway') || isLeftOut('identity') ? [] : [ready(gatewayUrl, (body) => missing(body).every(isLeftOut))]),
  ]);

  site.watch.isOpen = true;
  if (options.demo && isNew && leftOut.length === 0) say(`Demo data: ${await addDemoData(gatewayUrl, stop.signal)}.`);
  const seconds = (performance.now() - begun) / 1000;
  const gatewayUrls = urlsOf(instances, 'gateway', 'http://localhost');
  const streamUrls = urlsOf(instances, 'notifications', 'ws://127.0.0.1');
  say(banner({ gatewayUrls, streamUrls, mailUrl: mail?.url, jetstreamUrl: jetstream?.url, dataDir: dataDir.path, logs: dataDir.logs, seconds }));
  if (leftOut.length === 0) return;
  say(await instructions(leftOut));
  answers(`${gatewayUrl}/readyz`, { limitMs: Infinity, signal: stop.signal }).then(
    () => say(`${leftOut.map(({ service }) => service).join(', ')} responds: the shop is complete.`),
    (error) => stop.abort(error),
  );
}

/**
 * Starts a mail server that delivers nothing, unless the user has one.
 * @param {Site} site
 * @param {NodeJS.ProcessEnv} env
 */
async function catchMails({ shutdown, runFile }, env) {
  if (env['SMTP_URL'] || env['SMTP_URL_FILE']) return undefined;
  const catcher = await startMailCatcher();
  shutdown.add('mail', catcher.stop);
  runFile.update({ mailUrl: catcher.url });
  return catcher;
}

/**
 * Writes the environment files of services that the user runs, and removes those of an earlier run.
 * @param {Site} site
 * @param {Planned[]} processes
 * @param {Pick<import('./databases.mjs').Databases, 'ownerUrls'>} databases
 * @param {NodeJS.ProcessEnv} inherited
 * @returns {Promise<import('./own-process.mjs').LeftOut[]>}
 */
async function leaveOut({ dataDir, runFile, stop }, processes, { ownerUrls }, inherited) {
  for (const service of SERVICES) rmSync(dataDir.environmentFile(service), { force: true });
  const leftOut = processes.map(({ instance: { service }, env }) => {
    const ownerUrl = /** @type {Partial<Record<string, string>>} */ (ownerUrls)[service];
    return { service, env, file: dataDir.environmentFile(service), ownerUrl };
  });
  await together(stop, leftOut.map((one) => writeEnvironment(one, inherited, stop.signal)));
  const places = processes.map(({ instance: { service, opsPort } }) => [service, { environment: dataDir.environmentFile(service), opsPort }]);
  if (leftOut.length > 0) runFile.update({ leftOut: Object.fromEntries(places) });
  return leftOut;
}

/** Whether a process has started, even if its dependencies are not ready. @param {string} body of its /readyz */
const hasStarted = (body) => JSON.parse(body).checks.start === 'ok';

/** @param {string} body of the gateway's /readyz @returns {string[]} services that are not ready */
const missing = (body) => Object.entries(JSON.parse(body).services).flatMap(([service, state]) => (state === 'ready' ? [] : [service]));

/**
 * @param {import('./services.mjs').Instance[]} instances
 * @param {import('./services.mjs').ServiceName} name
 * @param {string} address without the port
 */
function urlsOf(instances, name, address) {
  const urls = instances.filter(({ service }) => service === name).map(({ port }) => `${address}:${port}`);
  return /** @type {[string, ...string[]]} */ (urls);
}

/** @param {DataDir} dataDir @returns {() => void} releases the lock */
function lock(dataDir) {
  try {
    return takeLock(dataDir.lock);
  } catch (error) {
    if (!(error instanceof Held)) throw error;
    throw new StartError(
      `A shop already runs on ${dataDir.path} (process ${error.pid}).\n` +
        'Stop it first, or give this one a folder and ports of its own: DATA_DIR, GATEWAY_PORT, STREAM_PORT.',
    );
  }
}

/** @typedef {{ instance: import('./services.mjs').Instance, env: NodeJS.ProcessEnv }} Planned */

/**
 * Migrates every database, as a deployment's migration Jobs do.
 * @param {Pick<Site, 'stop'>} site
 * @param {Planned[]} processes
 * @param {Pick<import('./databases.mjs').Databases, 'ownerUrls'>} databases
 */
export async function migrate({ stop }, processes, { ownerUrls }) {
  const migrations = DATABASES.flatMap((name) => {
    const first = processes.find(({ instance }) => instance.service === name);
    if (!first) return [];
    const env = { ...first.env, [ownerVariable(name)]: ownerUrls[name] };
    return run(pinnedNode(), [migrateOf(name)], { what: `Migrating the database of ${name}`, cwd: ROOT, env, signal: stop.signal });
  });
  await together(stop, migrations);
}

/**
 * @param {Site} site
 * @param {Planned[]} processes
 */
function startServices({ dataDir, runFile, shutdown, screen, watch }, processes) {
  const kept = processes.map(({ instance, env }) => {
    const service = serviceProcess(instance, {
      env,
      logs: dataDir.logs,
      screen,
      watch,
      record: () => runFile.record(instance, service.mark),
    });
    return service;
  });
  shutdown.add('services', () => Promise.all(kept.map((service) => service.stop())));
  for (const service of kept) service.start();
}
