/** What these tests use of a plain JavaScript module. `tsconfig.scripts.json` checks the module itself. */
declare module '*/tools/test/shop.mjs' {
  export class TestShop {
    static start(folder: string, options?: { signal?: AbortSignal; args?: string[]; env?: Record<string, string>; limitMs?: number }): Promise<TestShop>;
    readonly env: Readonly<Record<'GATEWAY_URL' | 'STREAM_URL' | 'RUN_FILE', string>>;
    logOf(service: string): string;
    end(): Promise<void>;
  }
}
