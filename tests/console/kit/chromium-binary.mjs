import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, run } from '../../../tools/start/command.mjs';
import { StartError } from '../../../tools/start/errors.mjs';
import { onPath } from '../../../tools/start/path.mjs';
import { cacheFolder } from '../../../tools/start/system-user.mjs';

/** An npm package with a complete browser, for machines without one. */
const PACKAGE = '@sparticuz/chromium';
const VERSION = '153.0.0';

const installed = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const installedElsewhere = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium'];

/**
 * @typedef {object} Chromium
 * @property {string} binary
 * @property {Record<string, string>} env environment variables that it needs
 */

/**
 * Finds a Chromium: that of CHROMIUM_BINARY, else an installed one, else that of the npm package, which it unpacks into the cache.
 * @param {{ signal: AbortSignal, say: (message: string) => void }} options
 * @returns {Promise<Chromium>}
 */
export async function findChromium({ signal, say }) {
  const configured = process.env['CHROMIUM_BINARY'];
  if (configured) return { binary: configured, env: {} };
  const found = installed.map(onPath).find((file) => file !== undefined) ?? installedElsewhere.find((file) => existsSync(file));
  if (found) return { binary: found, env: {} };
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new StartError(`No Chromium was found. ${remedy}`);
  const home = join(cacheFolder(undefined), `chromium-${VERSION}`);
  if (!existsSync(home)) await fetchPackage(home, { signal, say });
  return withLibraries(home, signal);
}

const remedy = 'Install Chromium or Chrome, or set CHROMIUM_BINARY to the path of its program.';

/** @param {string} home @param {Parameters<typeof findChromium>[0]} options */
async function fetchPackage(home, { signal, say }) {
  say(`No Chromium found: fetching ${PACKAGE} ${VERSION} from npm`);
  const draft = `${home}.${process.pid}.new`;
  mkdirSync(draft, { recursive: true });
  try {
    const install = ['install', '--prefix', draft, '--global=false', '--ignore-scripts', '--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
    await run('npm', [...install, `${PACKAGE}@${VERSION}`], { what: `Installing ${PACKAGE}`, cwd: draft, signal });
    // The package unpacks into the folder for temporary files, so TMPDIR points to the draft.
    const unpack = `import { inflate } from '${PACKAGE}'; const bin = 'node_modules/${PACKAGE}/bin/';
      for (const file of ['chromium.br', 'fonts.tar.br', 'al2023.tar.br']) await inflate(bin + file);`;
    const env = { ...process.env, TMPDIR: draft };
    await run(process.execPath, ['--input-type=module', '--eval', unpack], { what: `Unpacking ${PACKAGE}`, cwd: draft, env, signal });
    rmSync(join(draft, 'node_modules'), { recursive: true });
    renameSync(draft, home);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another run has finished first.
    if (existsSync(home) && !signal.aborted) return;
    signal.throwIfAborted();
    throw new StartError(`${error instanceof Error ? error.message : error}\n${remedy}`);
  }
}

/**
 * Uses the package's libraries and fonts if the system lacks them.
 * @param {string} home @param {AbortSignal} signal @returns {Promise<Chromium>}
 */
async function withLibraries(home, signal) {
  const binary = join(home, 'chromium');
  const fonts = existsSync('/etc/fonts/fonts.conf') ? {} : { FONTCONFIG_PATH: join(home, 'fonts') };
  for (const env of [fonts, { ...fonts, LD_LIBRARY_PATH: [join(home, 'al2023', 'lib'), process.env['LD_LIBRARY_PATH'] ?? []].flat().join(':') }]) {
    if ((await attempt(binary, ['--version'], { env: { ...process.env, ...env }, signal })).code === 0) return { binary, env };
  }
  throw new StartError(`The Chromium in ${home} does not run on this system. ${remedy}`);
}
