import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { StartError } from '../start/errors.mjs';
import { claimPorts } from '../start/ports.mjs';
import { commandLine } from '../start/processes.mjs';
import { passed, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

/** The ports of `npm start`. */
const DEFAULTS = { GATEWAY_PORT: 8080, STREAM_PORT: 8081 };

/**
 * Checks that the ports that a start would use are free. For a running shop, see parts.mjs.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Finding[]>}
 */
export async function checkPorts(env) {
  const findings = [];
  for (const [variable, fallback] of Object.entries(DEFAULTS)) {
    const port = env[variable] || `${fallback}`;
    try {
      await claimPorts({ [variable]: fallback }, env);
      findings.push(passed(`port ${port}`, `free (${variable})`));
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      const [problem = '', remedy = ''] = error.message.split(/(?<=\.) (?=Choose)/);
      findings.push(wrong(`port ${port}`, `${problem} ${holder(Number(port))}`.trim(), remedy));
    }
  }
  return findings;
}

/** Describes the process that listens on the port, or returns an empty string if it is not visible. @param {number} port */
function holder(port) {
  const pid = listenerOf(port);
  if (pid === undefined) return '';
  return `Process ${pid} has it (${commandLine(pid).trim().slice(0, 120) || 'unnamed'}).`;
}

/** Returns the process that listens on a port, if this user may see it. @param {number} port @returns {number | undefined} */
export const listenerOf = (port) => (process.platform === 'linux' ? listenerOnLinux(port) : listenerElsewhere(port));

/** @param {number} port */
function listenerOnLinux(port) {
  const sockets = ['tcp', 'tcp6'].flatMap((table) => listening(table, port)).map((inode) => `socket:[${inode}]`);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (sockets.length > 0 && descriptorsOf(pid).some((target) => sockets.includes(target))) return Number(pid);
  }
  return undefined;
}

/** Returns the inodes of the sockets that listen on the port. @param {string} table @param {number} port @returns {string[]} */
function listening(table, port) {
  const LISTEN = '0A';
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const rows = contentOf(`/proc/net/${table}`).split('\n').map((row) => row.trim().split(/\s+/));
  return rows.filter(([, local, , state]) => state === LISTEN && local?.endsWith(`:${hex}`)).map((row) => row[9] ?? '');
}

/** @param {string} file */
function contentOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // no IPv6 on this machine
  }
}

/** Returns the files that a process has open; none if it has ended or belongs to another user. @param {string} pid @returns {string[]} */
function descriptorsOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        return []; // closed in the meantime
      }
    });
  } catch {
    return [];
  }
}

/** @param {number} port */
function listenerElsewhere(port) {
  try {
    const out = execFileSync('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fp'], { encoding: 'utf8', stdio: 'pipe' });
    return Number(/^p(\d+)$/m.exec(out)?.[1]) || undefined;
  } catch {
    return undefined; // no listener, or no lsof
  }
}
