// `npm run containers -- --check`: builds the images, runs docker-compose.yml as a separate project and checks it over HTTP. Needs
// an engine with Compose 2.26 or newer, and no installed packages.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { attempt, run } from '../../../tools/start/command.mjs';
import { explain, StartError } from '../../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../../tools/start/shutdown.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';
import { Client } from './client.mjs';
import { checkConsole } from './console.mjs';
import { isolation, trustedProxy } from './isolation.mjs';
import { checkLifecycle } from './lifecycle.mjs';
import { Project } from './project.mjs';
import { Report } from './report.mjs';
import { tour } from './tour.mjs';

const usage = `Builds the images, runs docker-compose.yml, and checks it over HTTP.

  npm run containers -- --check          in the project plant-shop-check, which it removes at the end
  npm run containers -- --check --keep   leaves the project running

Prints one line per check. Exit code: 0 all passed, 1 some failed, 2 it could not start.`;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const options = optionsOf(process.argv.slice(2));
  if (!options?.check) {
    console.log(usage);
    return options?.help ? 0 : 2;
  }
  const report = new Report();
  const shutdown = new Shutdown(/** @type {const} */ (['containers']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  try {
    report.note(await engine());
    await run('sh', [join(ROOT, 'deploy/compose/make-secrets.sh')], { what: 'make-secrets.sh' });
    const project = await Project.make(stop.signal);
    await project.remove();
    if (!options.keep) shutdown.add('containers', () => project.remove());
    await check(report, project);
    if (options.keep) report.note(`The shop keeps running at ${project.url}. To remove it: docker compose --project-name plant-shop-check down --volumes`);
  } catch (error) {
    console.log(explain(error));
    await shutdown.run();
    return 2;
  }
  const isClean = await shutdown.run();
  console.log(`\n${report.summary()}`);
  return report.failed === 0 && isClean ? 0 : 1;
}

/** @param {Report} report @param {Project} project */
async function check(report, project) {
  await report.check('Compose accepts docker-compose.yml', () => project.compose(['config', '--quiet']).then(() => undefined));
  await report.check('Compose accepts it with the profile observability', () => project.compose(['--profile', 'observability', 'config', '--quiet']).then(() => undefined));
  await report.check('build the five images', () => project.compose(['build']).then(() => undefined));
  await report.check('up: all healthy', () => project.up());
  await project.ready(30);
  const client = new Client(project);
  await tour(report, client);
  await checkConsole(report, project);
  await isolation(report, project);
  await trustedProxy(report, project);
  await checkLifecycle(report, project, client);
}

/** @returns {Promise<string>} the engine's version */
async function engine() {
  const versions = [['version', '--format', 'Docker {{.Server.Version}}'], ['compose', 'version', '--short']];
  const said = await Promise.all(versions.map((args) => attempt('docker', args).catch(() => ({ code: 1, output: 'docker is not installed.' }))));
  const failed = said.find(({ code }) => code !== 0);
  if (failed) throw new StartError(`No Docker engine with Compose responds: ${failed.output.trim()}`);
  return said.map(({ output }) => output.trim()).join(', Compose ');
}

/** @param {string[]} args */
function optionsOf(args) {
  const flag = /** @type {const} */ ({ type: 'boolean', default: false });
  try {
    return parseArgs({ args, options: { help: { ...flag, short: 'h' }, check: flag, keep: flag } }).values;
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    return undefined;
  }
}
