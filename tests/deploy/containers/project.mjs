import { join } from 'node:path';
import { attempt, run } from '../../../tools/start/command.mjs';
import { StartError } from '../../../tools/start/errors.mjs';
import { freePort } from '../../../tools/start/ports.mjs';
import { sleep } from '../../../tools/start/processes.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

const NAME = 'plant-shop-check';

/** The caller's variables that Docker needs; settings of the caller's shop are excluded. */
const PASSED_ON = /^(PATH|HOME|TMPDIR|XDG_\w+|DOCKER_\w+|BUILDX_\w+|BUILDKIT_\w+|(HTTPS?|NO)_PROXY)$/i;

/** A separate project of docker-compose.yml, with its own name, ports, volumes and image tags, and the settings of .env.example. */
export class Project {
  /** Of containers that are in no compose file, so that they are removed, too. */
  label = NAME;

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
   * @param {NodeJS.ProcessEnv} [settings] in addition to those of .env.example
   * @returns {Promise<string>} its output
   */
  compose(args, settings = {}) {
    const all = ['compose', '--project-name', NAME, '--file', 'docker-compose.yml', '--env-file', '.env.example', ...args];
    return run('docker', all, { what: `docker compose ${args.join(' ')}`, cwd: ROOT, env: { ...this.env, ...settings }, signal: this.signal });
  }

  /** @param {string[]} args */
  docker(args) {
    return run('docker', args, { what: `docker ${args.join(' ')}`, cwd: ROOT, env: this.env, signal: this.signal });
  }

  /** Like `docker`, for commands that may fail. @param {string[]} args */
  attempt(args) {
    return attempt('docker', args, { cwd: ROOT, env: this.env, signal: this.signal });
  }

  /** Starts missing containers and waits until all are healthy. @param {string[]} [args] @param {NodeJS.ProcessEnv} [settings] */
  async up(args = [], settings = {}) {
    await this.compose(['up', '--detach', '--no-build', '--wait', '--wait-timeout', '300', ...args], settings);
  }

  /** Removes everything but the images. Works after an abort, too. */
  async remove() {
    const docker = async (/** @type {string[]} */ args) => {
      const { code, output } = await attempt('docker', args, { cwd: ROOT, env: this.env });
      if (code !== 0) throw new StartError(output.trim());
      return output.trim();
    };
    const others = await docker(['ps', '--all', '--quiet', '--filter', `label=${this.label}`]);
    if (others !== '') await docker(['rm', '--force', ...others.split('\n')]);
    await docker(['compose', '--project-name', NAME, '--file', join(ROOT, 'docker-compose.yml'), 'down', '--volumes', '--remove-orphans']);
  }

  /** @param {string} service @returns {Promise<any>} its first container, from `docker inspect` */
  async inspect(service) {
    const [id = ''] = (await this.compose(['ps', '--all', '--quiet', service])).trim().split('\n');
    return JSON.parse(await this.docker(['inspect', id]))[0];
  }

  /** @param {string} service @param {string[]} command @returns {Promise<{ code: number, output: string }>} */
  exec(service, command) {
    const args = ['compose', '--project-name', NAME, '--file', 'docker-compose.yml', 'exec', '--no-TTY', service, ...command];
    return attempt('docker', args, { cwd: ROOT, env: this.env, signal: this.signal });
  }

  /** Returns names and ids of all containers; recreated ones have another id. */
  async containers() {
    return (await this.compose(['ps', '--all', '--format', '{{.Name}} {{.ID}}'])).trim().split('\n').sort().join('\n');
  }

  /**
   * Kills a service's process like a crash. `docker kill` would count as a deliberate stop, and the first process of a namespace
   * ignores SIGKILL from inside, so the signal is sent from the engine's namespace.
   * @param {string} service
   * @returns {Promise<number>} the container's previous restart count
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
