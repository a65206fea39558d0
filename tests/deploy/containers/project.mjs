import { join } from 'node:path';
import { attempt, run } from '../../../tools/start/command.mjs';
import { StartError } from '../../../tools/start/errors.mjs';
import { freePort } from '../../../tools/start/ports.mjs';
import { sleep } from '../../../tools/start/processes.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

const NAME = 'plant-shop-check';

/** What Docker itself needs of the caller's environment. The settings of a shop of theirs are none of ours. */
const PASSED_ON = /^(PATH|HOME|TMPDIR|XDG_\w+|DOCKER_\w+|BUILDX_\w+|BUILDKIT_\w+|(HTTPS?|NO)_PROXY)$/i;

/** A project of docker-compose.yml beside all others: with a name, ports, volumes and image tags of its own, and the settings of .env.example. */
export class Project {
  /** @param {AbortSignal} signal */
  static async make(signal) {
    return new Project(await freePort(), await freePort(), signal);
  }

  /** @param {number} gatewayPort @param {number} streamPort @param {AbortSignal} signal */
  constructor(gatewayPort, streamPort, signal) {
    this.url = `http://127.0.0.1:${gatewayPort}`;
    this.streamUrl = `http://127.0.0.1:${streamPort}`;
    this.signal = signal;
    const passed = Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name)));
    /** @type {NodeJS.ProcessEnv} */
    this.env = {
      ...passed,
      GATEWAY_PORT: `${gatewayPort}`,
      STREAM_PORT: `${streamPort}`,
      PUBLIC_URL: this.url,
      STREAM_PUBLIC_URL: this.streamUrl.replace('http', 'ws'),
      SHOP_VERSION: 'check',
    };
  }

  /**
   * @param {string[]} args
   * @param {NodeJS.ProcessEnv} [settings] beside those of .env.example
   * @returns {Promise<string>} what it printed
   */
  compose(args, settings = {}) {
    const all = ['compose', '--project-name', NAME, '--file', 'docker-compose.yml', '--env-file', '.env.example', ...args];
    return run('docker', all, { what: `docker compose ${args.join(' ')}`, cwd: ROOT, env: { ...this.env, ...settings }, signal: this.signal });
  }

  /** @param {string[]} args */
  docker(args) {
    return run('docker', args, { what: `docker ${args.join(' ')}`, cwd: ROOT, env: this.env, signal: this.signal });
  }

  /** Starts what does not run, and waits until all are healthy. @param {string[]} [args] @param {NodeJS.ProcessEnv} [settings] */
  async up(args = [], settings = {}) {
    await this.compose(['up', '--detach', '--no-build', '--wait', '--wait-timeout', '300', ...args], settings);
  }

  /** Ends it, and leaves nothing but images. It works after an abort as well. */
  async remove() {
    const args = ['compose', '--project-name', NAME, '--file', join(ROOT, 'docker-compose.yml'), 'down', '--volumes', '--remove-orphans'];
    const { code, output } = await attempt('docker', args, { cwd: ROOT, env: this.env });
    if (code !== 0) throw new StartError(output.trim());
  }

  /** @param {string} service @returns {Promise<any>} of `docker inspect`, its first container */
  async inspect(service) {
    const [id = ''] = (await this.compose(['ps', '--all', '--quiet', service])).trim().split('\n');
    return JSON.parse(await this.docker(['inspect', id]))[0];
  }

  /** @param {string} service @param {string[]} command @returns {Promise<{ code: number, output: string }>} */
  exec(service, command) {
    const args = ['compose', '--project-name', NAME, '--file', 'docker-compose.yml', 'exec', '--no-TTY', service, ...command];
    return attempt('docker', args, { cwd: ROOT, env: this.env, signal: this.signal });
  }

  /** Names and ids of all containers, by which one that was made again is known. */
  async containers() {
    return (await this.compose(['ps', '--all', '--format', '{{.Name}} {{.ID}}'])).trim().split('\n').sort().join('\n');
  }

  /**
   * Kills the process of a service as the kernel would. `docker kill` would count as stopping it, and a process that is first
   * in its namespace ignores SIGKILL from inside: this one comes from the engine's own namespace.
   * @param {string} service
   * @returns {Promise<number>} how often its container was restarted before
   */
  async kill(service) {
    const { State, RestartCount } = await this.inspect(service);
    const helper = ['run', '--rm', '--pid', 'host', '--network', 'none', '--user', '0', '--cap-add', 'KILL', '--entrypoint', 'sh', 'plant-shop/gateway:check'];
    await this.docker([...helper, '-c', `kill -KILL ${State.Pid}`]);
    return RestartCount;
  }

  /** @param {string} service @param {number} before */
  async isRestarted(service, before) {
    return (await this.inspect(service)).RestartCount > before;
  }

  isReady() {
    return fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(3_000) }).then(async (response) => {
      await response.body?.cancel();
      return response.ok;
    }, () => false);
  }

  /** @param {number} limitS */
  async ready(limitS) {
    for (const end = Date.now() + limitS * 1_000; !(await this.isReady()); await sleep(200)) {
      this.signal.throwIfAborted();
      if (Date.now() > end) throw new Error(`The gateway is not ready after ${limitS} s.`);
    }
  }
}
