import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Identifies a process. The system reuses pids, so a pid alone might belong to another process by now; with the start time it
 * is unique.
 * @typedef {{ pid: number, began: string }} Mark
 */

/** @param {number} pid @returns {Mark | undefined} undefined if no such process runs */
export function markOf(pid) {
  const began = process.platform === 'linux' ? beganLinux(pid) : beganElsewhere(pid);
  return began === undefined ? undefined : { pid, began };
}

/** @param {Mark | undefined} mark @returns {mark is Mark} */
export function stillRuns(mark) {
  return mark !== undefined && markOf(mark.pid)?.began === mark.began;
}

/** Returns the whole command line of a process; empty if there is no such process. @param {number} pid */
export function commandLine(pid) {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', `${pid}`], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '';
  }
}

/**
 * Stops a process that is not a child: each signal in turn with its time limit, finally SIGKILL for its group.
 * @param {Mark} mark
 * @param {StopStep[]} steps
 */
export async function stopStranger(mark, steps) {
  for (const { signal, limitMs } of steps) {
    if (!stillRuns(mark)) return;
    sendSignal(mark.pid, signal);
    await until(() => !stillRuns(mark), limitMs);
  }
  if (!stillRuns(mark)) return;
  sendSignal(-mark.pid, 'SIGKILL');
  sendSignal(mark.pid, 'SIGKILL');
  await until(() => !stillRuns(mark), 5_000);
}

/** @typedef {{ signal: NodeJS.Signals, limitMs: number }} StopStep */

/** Like `process.kill`, but ignores a process that has already exited. @param {number} pid @param {NodeJS.Signals} signal */
export function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/** Returns the running child processes of a process. @param {number} pid @returns {number[]} */
export function childrenOf(pid) {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8', stdio: 'pipe' }).trim().split('\n');
  return lines.map((line) => line.trim().split(/\s+/).map(Number)).flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

/** @param {() => boolean} condition @param {number} limitMs @returns {Promise<boolean>} whether it became true in time */
export async function until(condition, limitMs) {
  for (const end = Date.now() + limitMs; Date.now() < end; ) {
    if (condition()) return true;
    await sleep(20);
  }
  return condition();
}

/** @param {number} ms */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} pid */
function beganLinux(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the command in parentheses, may contain parentheses and spaces: parse after its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticksSinceBoot] = [fields[0], fields[19]];
    // A zombie is dead. In many containers pid 1 never reaps it, so it would look alive forever.
    if (state === 'Z' || state === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${ticksSinceBoot}`;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function beganElsewhere(pid) {
  try {
    const out = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', `${pid}`], { encoding: 'utf8', stdio: 'pipe' }).trim();
    const [state = '', ...start] = out.split(/\s+/);
    return state.startsWith('Z') || start.length === 0 ? undefined : start.join(' ');
  } catch {
    return undefined;
  }
}
