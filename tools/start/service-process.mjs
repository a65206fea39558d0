import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { KeptProcess } from './kept-process.mjs';
import { onLines } from './lines.mjs';
import { LogFile } from './log-file.mjs';
import { NODE_FLAGS } from './node-flags.mjs';
import { pinnedNode, ROOT } from './toolchain.mjs';

/** @type {import('./processes.mjs').StopStep[]} */
const stopSteps = [{ signal: 'SIGTERM', limitMs: 15_000 }];

const KEPT_LINES = 25;

/**
 * The process of one service instance, not started yet. Its output goes to the screen and to a log file.
 * @param {import('./services.mjs').Instance} instance
 * @param {object} need
 * @param {NodeJS.ProcessEnv} need.env
 * @param {string} need.logs folder of the log files
 * @param {import('./screen.mjs').Screen} need.screen
 * @param {import('./watch.mjs').Watch} need.watch
 * @param {() => void} need.record called whenever it has started or ended
 */
export function serviceProcess({ service, label }, { env, logs, screen, watch, record }) {
  const file = new LogFile(join(logs, `${label}.log`));
  /** @type {string[]} */
  const lastLines = [];
  const take = (/** @type {string[]} */ lines) => {
    lastLines.push(...lines);
    lastLines.splice(0, lastLines.length - KEPT_LINES);
    file.append(`${lines.join('\n')}\n`);
    screen.log(label, lines);
  };
  return new KeptProcess({
    name: label,
    stopSteps,
    onEnd: watch.over(label, () => lastLines),
    onChange: record,
    launch: () => {
      const child = spawn(pinnedNode(), [...NODE_FLAGS, mainOf(service)], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
      onLines(child.stdout, take);
      onLines(child.stderr, take);
      return child;
    },
  });
}

/** Returns the folder of a service's build: this checkout's, or the contents of its image (npm run artefacts). @param {string} service */
const folderOf = (service) => (process.env['ARTEFACTS_DIR'] ? join(process.env['ARTEFACTS_DIR'], service) : join(ROOT, 'apps', service));

/** @param {string} service */
const mainOf = (service) => join(folderOf(service), 'dist', 'main.js');

/** @param {string} service */
export const migrateOf = (service) => join(folderOf(service), 'dist', 'migrate.js');
