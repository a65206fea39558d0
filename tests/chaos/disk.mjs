import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Sparse: it takes what is written to it. Room for a shop's data and for the WAL of some minutes. */
const SIZE_BYTES = 8 * 1024 ** 3;
/** Where Linux's control groups limit the I/O of processes (version 1). */
const BLKIO = '/sys/fs/cgroup/blkio';
/** On a healthy disk a commit takes about a millisecond; at this rate the WAL alone needs 50 ms for each. */
const SLOW_WRITES_PER_SECOND = 20;

/**
 * A file system of its own for Postgres, in an image file: it can be full without filling the machine's, and slow without
 * slowing anything else. It takes root and a loop device.
 * @implements {import('./dist/stack.js').Disk}
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
   * @param {import('../../tools/start/system-user.mjs').SystemUser | undefined} user who may write to it
   * @returns {Promise<Disk | { reason: string }>} the reason why this machine does not let us make one
   */
  static async make(parent, user) {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return { reason: 'a disk of its own for Postgres takes Linux and root' };
    const disk = new Disk(join(parent, 'disk.img'), join(parent, 'disk'));
    try {
      writeFileSync(disk.image, '');
      truncateSync(disk.image, SIZE_BYTES);
      await run('mkfs.ext4', ['-q', '-F', '-m', '0', disk.image]);
      mkdirSync(disk.folder);
      await run('mount', ['-o', 'loop', disk.image, disk.folder]);
    } catch (error) {
      rmSync(disk.image, { force: true });
      return { reason: `no disk of its own for Postgres: ${String(error)}` };
    }
    if (user) chownSync(disk.folder, user.uid, user.gid);
    return disk;
  }

  /** Leaves no free block: a file takes blocks for its own map as well, so the last ones go in ever smaller files. */
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

  /** Whether this machine lets us limit the I/O of single processes. */
  get canBeSlow() {
    return existsSync(join(BLKIO, 'blkio.throttle.write_iops_device'));
  }

  /** Limits the writes of a Postgres server and of all processes that it has or will have. @param {number} pid */
  slowDown(pid) {
    const { dev } = statSync(this.folder);
    const device = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
    mkdirSync(this.group, { recursive: true });
    writeFileSync(join(this.group, 'blkio.throttle.write_iops_device'), `${device} ${SLOW_WRITES_PER_SECOND}`);
    for (const process of [pid, ...childrenOf(pid)]) move(process, this.group);
  }

  speedUp() {
    if (!existsSync(this.group)) return;
    for (const pid of readFileSync(join(this.group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) move(Number(pid), BLKIO);
    rmdirSync(this.group);
  }

  /** When nothing runs on it any more. */
  async end() {
    this.speedUp();
    if (existsSync(this.folder)) await run('umount', ['--lazy', this.folder]);
    rmSync(this.image, { force: true });
  }
}

/** @param {number} pid @param {string} group */
function move(pid, group) {
  try {
    writeFileSync(join(group, 'cgroup.procs'), `${pid}`);
  } catch (error) {
    // It has ended meanwhile.
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
