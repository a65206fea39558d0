import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc: 100 on every Linux that Node supports. */
const TICKS = 100;

/** @typedef {{ seconds: number, rss: number, files: number }} Use CPU time so far in seconds, resident memory in bytes, and the part of it that is files, such as Node's binary */

/**
 * Returns the usage of a process and its descendants. Ended children count through their parents' accounting.
 * @param {number} root
 * @returns {Use}
 */
export function useOf(root) {
  const total = { seconds: 0, rss: 0, files: 0 };
  for (const { seconds, rss, files } of treeOf(root)) {
    total.seconds += seconds;
    total.rss += rss;
    total.files += files;
  }
  return total;
}

/** Returns the memory of a process and its descendants in bytes. What processes share is divided among them. @param {number} root */
export function memoryOf(root) {
  return treeOf(root).reduce((total, { pid }) => total + proportionOf(pid), 0);
}

/** @param {number} pid */
function proportionOf(pid) {
  try {
    return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1_024;
  } catch (error) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    // The process has ended in the meantime.
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}

/** @param {number} root */
function treeOf(root) {
  const all = processes();
  const tree = [];
  for (const pids = [root]; pids.length > 0; ) {
    const one = all.get(/** @type {number} */ (pids.pop()));
    if (!one) continue;
    tree.push(one);
    pids.push(...one.children);
  }
  return tree;
}

function processes() {
  /** @type {Map<number, Use & { pid: number, children: number[] }>} */
  const all = new Map();
  const parents = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const stat = statOf(pid);
    if (!stat) continue;
    all.set(pid, { pid, seconds: stat.ticks / TICKS, rss: stat.pages * 4_096, files: stat.filePages * 4_096, children: [] });
    parents.push([pid, stat.parent]);
  }
  for (const [pid, parent] of parents) all.get(/** @type {number} */ (parent))?.children.push(/** @type {number} */ (pid));
  return all;
}

/** @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number);
    const at = (/** @type {number} */ field) => fields[field - 3] ?? 0;
    const filePages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[2]);
    return { parent: at(4), ticks: at(14) + at(15) + at(16) + at(17), pages: at(24), filePages };
  } catch {
    // The process has ended in the meantime.
    return undefined;
  }
}
