import { spawn } from 'node:child_process';
import { StartError } from './errors.mjs';
import { sendSignal } from './processes.mjs';

/**
 * @typedef {object} CommandOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {{ uid: number, gid: number } | undefined} [as] the user to run it as
 * @property {string} [input] written to its standard input
 * @property {boolean | number} [show] pass its output through, or write it to this file descriptor, instead of keeping it
 * @property {AbortSignal} [signal] ends it with everything it started
 * @property {number} [endLimitMs] time from SIGTERM to SIGKILL: longer for a command that stops processes of its own
 */

/**
 * Runs a command and waits until it exits.
 * @param {string} command
 * @param {string[]} args
 * @param {CommandOptions} [options]
 * @returns {Promise<{ code: number, output: string }>} output: both streams; empty if shown
 */
export function attempt(command, args, options = {}) {
  const { cwd, env, as, input, show = false, signal, endLimitMs = 5_000 } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // On one stream, both outputs keep their order.
    const out = show === true ? process.stdout.fd : show === false ? 'pipe' : show;
    // Its own process group: Ctrl-C reaches only the launcher, and one signal reaches all that the command started.
    const child = spawn(command, args, {
      cwd,
      env,
      ...as,
      detached: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', out, out],
    });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
    // A command that fails early closes its input. Its exit code is more informative than EPIPE.
    child.stdin?.on('error', () => {}).end(input);

    const group = child.pid === undefined ? undefined : -child.pid;
    let overdue = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    const end = () => {
      if (group === undefined) return;
      sendSignal(group, 'SIGTERM');
      overdue = setTimeout(() => sendSignal(group, 'SIGKILL'), endLimitMs);
    };
    signal?.addEventListener('abort', end, { once: true });
    const settle = () => {
      clearTimeout(overdue);
      signal?.removeEventListener('abort', end);
    };
    child.once('error', (error) => {
      settle();
      reject(error);
    });
    child.once('close', (code) => {
      settle();
      if (signal?.aborted) reject(signal.reason);
      else resolve({ code: code ?? 1, output });
    });
  });
}

/**
 * Like `attempt`, but throws with the command's output if it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {CommandOptions & { what: string }} options what: named in the error, as in "installing packages"
 * @returns {Promise<string>}
 */
export async function run(command, args, { what, ...options }) {
  const { code, output } = await attempt(command, args, options).catch((error) => {
    if (options.signal?.aborted) throw error;
    throw new StartError(`${what} failed: ${error.message}`);
  });
  if (code !== 0) throw new StartError(`${what} failed (exit code ${code})${output ? `:\n${output.trimEnd()}` : ''}`);
  return output;
}
