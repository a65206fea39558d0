import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestShop } from '../../../tools/test/shop.mjs';

/** A sandbox beside the shop of the other tests, to which the functions of these tests talk from now on. */
export interface SandboxShop {
  /** For files of the test. */
  readonly folder: string;
  end(): Promise<void>;
}

/** @param env its settings */
export async function startSandbox(env: Record<string, string>): Promise<SandboxShop> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-sandbox-'));
  // Postgres does not run as root and needs access.
  chmodSync(folder, 0o711);
  const shop = await TestShop.start(folder, { args: ['--sandbox'], env });
  Object.assign(process.env, shop.env);
  return {
    folder,
    end: async () => {
      await shop.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
