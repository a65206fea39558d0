import { textOf } from './services.mjs';

/** @typedef {{ name: string, text: string }} Instruction */

/**
 * Parses a Dockerfile for one service: instructions by stage, continuation lines joined, comments removed.
 * @param {string} service
 * @param {string} [file]
 * @returns {Instruction[][]} the first element precedes any FROM, then one per stage
 */
export function stagesOf(service, file = 'deploy/Dockerfile') {
  const lines = textOf(file).replaceAll('${SERVICE}', service).replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, '').split('\n').filter(Boolean);
  /** @type {Instruction[][]} */
  const stages = [[]];
  for (const line of lines) {
    const [name = '', ...rest] = line.split(' ');
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, text: rest.join(' ') });
  }
  return stages;
}

/** Returns the stage with this name. @param {string} service @param {string} name @returns {Instruction[]} */
export const stageOf = (service, name) => stagesOf(service).find((stage) => textsOf(stage, 'FROM').some((text) => text.endsWith(` AS ${name}`))) ?? [];

/** Returns the commands of a stage without BuildKit's mounts. @param {Instruction[]} stage */
const commandsOf = (stage) => textsOf(stage, 'RUN').map((text) => text.replace(/^(--mount=\S+\s+)*/, ''));

/** @param {Instruction[]} stage @param {string} name */
export const textsOf = (stage, name) => stage.filter((one) => one.name === name).map(({ text }) => text);

/** Returns the variables that the image sets. @param {string} service @returns {Record<string, string>} */
export function environmentOf(service) {
  const pairs = textsOf(stagesOf(service).at(-1) ?? [], 'ENV').flatMap((text) => text.split(/\s+/));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

/**
 * Returns the shell command that removes unused files from a service's artefact, for another folder.
 * @param {string} service
 * @param {string} folder
 */
export function pruneCommand(service, folder) {
  const [command, ...others] = commandsOf(stageOf(service, 'build')).filter((text) => /^find \/artefact .*-delete$/.test(text));
  if (command === undefined || others.length > 0) throw new Error('deploy/Dockerfile must contain exactly one "find /artefact … -delete"');
  return command.replace('/artefact', `'${folder}'`);
}
