import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../tools/start/processes.mjs';

const run = promisify(execFile);

/** Of a sparse image, which takes only the space written. Enough for a shop's data and some minutes of WAL. */
const SIZE_BYTES = 8 * 1024 ** 3;
/** The controller that limits the I/O of processes (Linux control groups, version 1). */
const BLKIO = '/sys/fs/cgroup/blkio';
/** A commit takes about a millisecond on a healthy disk; at this rate its WAL write alone takes 50 ms. */
const SLOW_WRITES_PER_SECOND = 20;
const EMPTY_LIMIT_MS = 10_000;

/** @typedef {import('./dist/stack.js').Disk} DiskOfTrials */

/**
 * A file system for Postgres alone, in an image file: it can be filled without filling the machine's, and slowed without
 * slowing anything else. Requires root and a loop device.
 * @implements {DiskOfTrials}
 */
export class Disk {
  /** @param {string} image @param {string} folder where it is mounted */
  constructor(image, folder) {
    this.image = image;
    this.folder = folder;
    this.ballast = join(folder, 'ballast');
    this.group = join(BLKIO, `plant-shop-chaos-${process.pid}`);
  }

  /**
   * @param {string} parent an existing folder
   * @param {import('../../tools/start/system-user.mjs').SystemUser | undefined} user owner of the mounted folder
   * @returns {Promise<Disk | { reason: string }>} the disk, or the reason why this machine cannot have one
   */
  static async make(parent, user) {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return { reason: 'a separate disk for Postgres requires Linux and root' };
    const disk = new Disk(join(parent, 'disk.img'), join(parent, 'disk'));
    try {
      writeFileSync(disk.image, '');
      truncateSync(disk.image, SIZE_BYTES);
      await run('mkfs.ext4', ['-q', '-F', '-m', '0', disk.image]);
      mkdirSync(disk.folder);
      await run('mount', ['-o', 'loop', disk.image, disk.folder]);
    } catch (error) {
      rmSync(disk.image, { force: true });
      return { reason: `no separate disk for Postgres: ${String(error)}` };
    }
    if (user) chownSync(disk.folder, user.uid, user.gid);
    return disk;
  }

  /** Fills the disk to the last block, with ever smaller files at the end: each file also takes blocks for its own extent map. */
  async fill() {
    mkdirSync(this.ballast, { recursive: true });
    const { bavail, bsize } = statfsSync(this.folder);
    for (let blocks = bavail, n = 0; blocks >= 1; n++) {
      const fits = await run('fallocate', ['-l', `${blocks * bsize}`, join(this.ballast, `${n}`)]).then(() => true, () => false);
      blocks = Math.floor(fits ? Math.min(blocks, statfsSync(this.folder).bavail) : blocks / 2);
    }
  }

  async free() {
    rmSync(this.ballast, { recursive: true, force: true });
  }

  /** Whether this machine can limit the I/O of single processes. */
  get canBeSlow() {
    return existsSync(join(BLKIO, 'blkio.throttle.write_iops_device'));
  }

  /** Limits the writes of a Postgres server and of all its present and future child processes. @param {number} pid */
  slowDown(pid) {
    const { dev } = statSync(this.folder);
    const device = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
    mkdirSync(this.group, { recursive: true });
    writeFileSync(join(this.group, 'blkio.throttle.write_iops_device'), `${device} ${SLOW_WRITES_PER_SECOND}`);
    for (const process of [pid, ...childrenOf(pid)]) move(process, this.group);
  }

  /** Ends the limit. Repeats the move: the server may start a process meanwhile, and a process that is exiting stays in the group for a moment. */
  async speedUp() {
    for (const end = performance.now() + EMPTY_LIMIT_MS; existsSync(this.group); await sleep(20)) {
      for (const pid of readFileSync(join(this.group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) move(Number(pid), BLKIO);
      try {
        rmdirSync(this.group);
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EBUSY' || performance.now() > end) throw error;
      }
    }
  }

  /** Unmounts and deletes the disk; no process may use it any more. */
  async end() {
    await this.speedUp();
    if (existsSync(this.folder)) await run('umount', ['--lazy', this.folder]);
    rmSync(this.image, { force: true });
  }
}

/** @param {number} pid @param {string} group */
function move(pid, group) {
  try {
    writeFileSync(join(group, 'cgroup.procs'), `${pid}`);
  } catch (error) {
    // The process has exited in the meantime.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/** @param {number} parent @returns {number[]} */
function childrenOf(parent) {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => parentOf(pid) === parent);
}

/** @param {number} pid */
function parentOf(pid) {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}
