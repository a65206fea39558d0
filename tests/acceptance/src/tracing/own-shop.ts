import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../shop.js';

const main = fileURLToPath(new URL('../../../../tools/start/main.mjs', import.meta.url));

/** A second shop beside the shared one, started by `npm start` with other environment variables. */
export class OwnShop {
  private constructor(
    private readonly launcher: ChildProcess,
    readonly dataDir: string,
    /** Environment variables that point the test helpers to this shop. */
    readonly variables: Readonly<Record<'GATEWAY_URL' | 'STREAM_URL' | 'RUN_FILE', string>>,
  ) {}

  static async start(variables: Readonly<Record<string, string>>): Promise<OwnShop> {
    const dataDir = mkdtempSync(join(tmpdir(), 'plant-shop-own-'));
    // Postgres does not run as root and needs access.
    chmodSync(dataDir, 0o755);
    const [gatewayPort, streamPort] = [await freePort(), await freePort()];
    const place = { DATA_DIR: dataDir, GATEWAY_PORT: String(gatewayPort), STREAM_PORT: String(streamPort) };
    const launcher = spawn(process.execPath, [main, '--quiet'], {
      env: { ...process.env, ...variables, ...place },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const shop = new OwnShop(launcher, dataDir, {
      GATEWAY_URL: `http://127.0.0.1:${gatewayPort}`,
      STREAM_URL: `ws://127.0.0.1:${streamPort}`,
      RUN_FILE: join(dataDir, 'run.json'),
    });
    await until(() => shop.isReady(), 120_000);
    return shop;
  }

  /** A service's log so far. */
  log(service: string): string {
    return readFileSync(join(this.dataDir, 'logs', `${service}.log`), 'utf8');
  }

  async stop(): Promise<void> {
    const ended = once(this.launcher, 'exit');
    if (this.launcher.exitCode === null && this.launcher.kill('SIGTERM')) await ended;
    const location = join(this.dataDir, 'postgres-location');
    if (existsSync(location)) rmSync(dirname(readFileSync(location, 'utf8')), { recursive: true, force: true });
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  private async isReady(): Promise<boolean> {
    if (this.launcher.exitCode !== null) throw new Error(`the shop exited with ${this.launcher.exitCode}`);
    const answer = await fetch(`${this.variables.GATEWAY_URL}/readyz`).catch(() => undefined);
    return answer?.status === 200;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
