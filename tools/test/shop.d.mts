/** For the acceptance tests, which are type-checked. */
export class TestShop {
  static start(folder: string, options?: { signal?: AbortSignal; args?: string[]; env?: Record<string, string>; limitMs?: number }): Promise<TestShop>;
  readonly env: Readonly<Record<'GATEWAY_URL' | 'STREAM_URL' | 'RUN_FILE', string>>;
  logOf(service: string): string;
  end(): Promise<void>;
}
