/** What the load tests use of autocannon, which has no types of its own. */
declare module 'autocannon' {
  function autocannon(options: autocannon.Options): Promise<autocannon.Result>;
  namespace autocannon {
    interface Request {
      method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
      path?: string;
      headers?: Record<string, string>;
      body?: string | Buffer;
    }
    interface Options {
      url: string;
      connections: number;
      /** In seconds. */
      duration: number;
      /** Called once for each connection. */
      setupClient: (client: { setRequests(requests: Request[]): void }) => void;
    }
    interface Result {
      requests: { total: number };
      /** In seconds. */
      duration: number;
      /** In milliseconds. */
      latency: { p50: number; p99: number };
      non2xx: number;
      errors: number;
      timeouts: number;
      statusCodeStats: Record<string, { count: number }>;
    }
  }
  export = autocannon;
}
