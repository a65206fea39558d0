// `npm run scan`: known vulnerabilities of the locked packages, and secrets in the repository. Both tools come from npm.
import { spawnSync } from 'node:child_process';
import { ROOT } from '../start/toolchain.mjs';

const pnpm = ['pnpm@12.18.0'];
const secretlint = ['secretlint@13.0.6', '@secretlint/secretlint-rule-preset-recommend@13.0.6'];
/** pnpm says so if the registry, such as a mirror, answers no audits or cannot be reached. */
const noAnswer = /ERR_PNPM_AUDIT|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/;

/**
 * @param {readonly string[]} packages
 * @param {readonly string[]} command
 * @returns {{ status: number | null, output: string }}
 */
function run(packages, command) {
  const { status, stdout, stderr, error } = spawnSync('npx', ['--yes', ...packages.map((one) => `--package=${one}`), ...command], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw error;
  return { status, output: stdout + stderr };
}

/** @param {{ status: number | null, output: string }} audit @returns {boolean} whether nothing was found; true if nothing could be asked */
export function reportAudit({ status, output }, say = console.log) {
  if (status === 0) say('packages: no known vulnerability of high or critical severity');
  else if (noAnswer.test(output)) say('packages: NOT CHECKED, the registry answers no audits');
  else say(`packages: vulnerable\n${output}`);
  return status === 0 || noAnswer.test(output);
}

if (process.argv[1] === import.meta.filename) {
  const isSafe = reportAudit(run(pnpm, ['pnpm', 'audit', '--audit-level', 'high']));
  const files = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).stdout.split('\0').filter((file) => file !== '');
  const { status, output } = run(secretlint, ['secretlint', '--no-glob', '--maskSecrets', ...files]);
  console.log(status === 0 ? `secrets: none in ${files.length} files` : `secrets: found, or not checked\n${output}`);
  process.exitCode = isSafe && status === 0 ? 0 : 1;
}
