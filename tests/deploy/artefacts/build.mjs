import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';
import { deployArguments, pruneCommand } from '../dockerfile.mjs';
import { SERVICES } from '../services.mjs';

/**
 * Builds the contents of the images by the Dockerfile's commands, from the current build.
 * @param {string} folder receives a subfolder per service
 * @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal }} means
 */
export async function buildArtefacts(folder, { env, signal }) {
  mkdirSync(folder, { recursive: true });
  const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const made = SERVICES.map(async (service) => {
    const target = join(folder, service);
    rmSync(target, { recursive: true, force: true });
    await run('npx', ['--yes', packageManager, ...deployArguments(service, target)], {
      what: `Building the artefact of ${service}`,
      cwd: ROOT,
      env: { ...env, CI: 'true' },
      signal,
    });
    await run('sh', ['-c', pruneCommand(service, target)], { what: `Pruning the artefact of ${service}`, signal });
  });
  await Promise.all(made);
}
