import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';
import { contextFiles } from '../build-context.mjs';
import { stagesOf } from '../dockerfile.mjs';
import { SERVICES } from '../services.mjs';

/** @typedef {{ root: string, cwd: string, env: Record<string, string> }} Stage root: the folder that is its file system */

/** @typedef {{ file: string, service: string, stage?: string }} Target of a Dockerfile the stage with this name, or the image */

const CONSOLE_BUILD = { file: 'deploy/Dockerfile', service: '', stage: 'console' };

/**
 * Builds the contents of all images: those of services in subfolders with their names, as in `/app`, and the console's image in `console`.
 * @param {string} folder
 * @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal }} means
 */
export async function buildArtefacts(folder, means) {
  const stages = join(folder, 'stages');
  const images = new Images(stages, means);
  // Its stages are most of those that the services share.
  const { root } = await images.build({ file: 'deploy/console/Dockerfile', service: '' });
  renameSync(root, join(folder, 'console'));
  for (const service of SERVICES) {
    const image = await images.build({ file: 'deploy/Dockerfile', service });
    renameSync(join(image.root, image.cwd), join(folder, service));
  }
  await rm(stages, { recursive: true });
}

/**
 * Builds images without an engine: each stage of a Dockerfile is a folder, and gets exactly the files that the build context contains. Base
 * images are empty folders, so commands run on this machine's Node and package manager, with its store of packages.
 */
class Images {
  /** @type {Map<string, Promise<Stage>>} */
  #stages = new Map();
  #made = 0;

  /** @param {string} folder @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal }} means */
  constructor(folder, { env, signal }) {
    this.folder = folder;
    this.signal = signal;
    // `npm install --global` must not change this machine.
    const global = join(folder, 'global');
    this.env = { ...env, npm_config_prefix: global, npm_config_prefer_offline: 'true', PATH: `${join(global, 'bin')}:${env['PATH'] ?? ''}` };
    this.context = join(folder, 'context');
    for (const file of contextFiles()) {
      mkdirSync(dirname(join(this.context, file)), { recursive: true });
      cpSync(join(ROOT, file), join(this.context, file));
    }
  }

  /** @param {Target} target @returns {Promise<Stage>} */
  build(target) {
    const all = stagesOf(target.service, target.file);
    const index = target.stage === undefined ? all.length - 1 : all.findIndex(([from]) => from?.text.endsWith(` AS ${target.stage}`));
    // Services share the stages that do not depend on the service, as in an engine.
    const key = JSON.stringify([target.file, all.slice(0, index + 1)]);
    const made = this.#stages.get(key) ?? this.#make(target, all[index] ?? []);
    this.#stages.set(key, made);
    return made;
  }

  /** @param {Target} target @param {import('../dockerfile.mjs').Instruction[]} instructions */
  async #make(target, instructions) {
    const [base = ''] = (instructions[0]?.text ?? '').split(' ');
    // Not random: pnpm writes the place into names of packages.
    const root = join(this.folder, `stage-${++this.#made}`);
    mkdirSync(root, { recursive: true });
    /** @type {Stage} */
    const stage = { cwd: '/', env: {}, ...(await this.#copyBase(target, base, root)), root };
    for (const { name, text } of instructions) {
      if (name === 'WORKDIR') mkdirSync(join(root, (stage.cwd = resolve(stage.cwd, text))), { recursive: true });
      if (name === 'ARG' && text === 'SERVICE') stage.env['SERVICE'] = target.service;
      if (name === 'ENV') Object.assign(stage.env, variablesOf(text));
      if (name === 'COPY') await this.#copy(target, stage, text);
      if (name === 'RUN') await this.#run(stage, text);
    }
    return stage;
  }

  /** @param {Target} target @param {string} name of a stage or an argument @param {string} root */
  async #copyBase({ file, service }, name, root) {
    if (name === '${BUILD_IMAGE}') return copyStage(await this.build(CONSOLE_BUILD), root);
    return name.startsWith('${') ? {} : copyStage(await this.build({ file, service, stage: name }), root);
  }

  /** @param {Target} target @param {Stage} stage @param {string} text */
  async #copy({ file, service }, { root, cwd }, text) {
    const words = text.split(' ').filter((word) => !word.startsWith('--'));
    const place = words.pop() ?? '';
    const [from, mode] = [/--from=(\S+)/, /--chmod=(\d+)/].map((pattern) => pattern.exec(text)?.[1]);
    const origin = from === undefined ? this.context : (await this.build({ file, service, stage: from })).root;
    for (const word of words) {
      const source = join(origin, word);
      if (!existsSync(source)) throw new Error(`${file}: COPY ${text}: there is no ${word} in ${from === undefined ? 'the build context' : `the stage ${from}`}`);
      const copy = join(root, resolve(cwd, place), statSync(source).isFile() && place.endsWith('/') ? basename(word) : '');
      cpSync(source, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
      if (mode !== undefined) chmodSync(copy, Number.parseInt(mode, 8));
    }
  }

  /** @param {Stage} stage @param {string} text */
  async #run({ root, cwd, env }, text) {
    const command = text.replace(/^(--mount=\S+\s+)*/, '').replaceAll(/(?<=^|[\s'"=(])\/(?=\w)/g, `${root}/`);
    await run('sh', ['-ec', command], { what: `RUN ${text}`, cwd: join(root, cwd), env: { ...this.env, ...env }, signal: this.signal });
  }
}

/**
 * Copies a stage's files, except for its packages: no later stage changes them, and copying their 60,000 files takes half a minute.
 * @param {Stage} stage @param {string} root
 */
function copyStage({ root: from, ...stage }, root) {
  const packages = 'src/node_modules';
  cpSync(from, root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true, filter: (path) => path !== join(from, packages) });
  if (existsSync(join(from, packages))) symlinkSync(join(from, packages), join(root, packages));
  return { ...stage, env: { ...stage.env } };
}

/** Without the place of pnpm's store, which is a cache of the engine. @param {string} text @returns {Record<string, string>} */
const variablesOf = (text) => Object.fromEntries(text.split(/\s+/).map((pair) => pair.split('=')).filter(([name]) => name !== 'pnpm_config_store_dir'));
