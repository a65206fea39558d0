import { Cell } from './cell.js';
import { fetchOrUpload } from './uploads.js';

/** Per service `ready`, or what keeps it from working. */
export type Services = Readonly<Record<string, string>>;

export type ConnectionState = { readonly isAway: false } | { readonly isAway: true; readonly services: Services | undefined };

const here: ConnectionState = { isAway: false };
const probeMs = 1_500;
const probeLimitMs = 5_000;
/** What a proxy or the gateway answers when what is behind it is away. */
const awayStatuses = [502, 503, 504];

/**
 * Whether the shop answers. A request that fails is only a hint: `/readyz` decides, and is asked until it says that all is
 * well again.
 */
export class Connection {
  readonly state = new Cell<ConnectionState>(here);
  private probing: Promise<void> | undefined;

  /** For the client library: it repeats requests itself, so only here is seen that one failed. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    try {
      const response = await fetchOrUpload(input, init);
      if (awayStatuses.includes(response.status)) this.suspect();
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) this.suspect();
      throw error;
    }
  };

  suspect(): void {
    this.probing ??= this.probe().finally(() => {
      this.probing = undefined;
    });
  }

  private async probe(): Promise<void> {
    for (;;) {
      const services = await readReadiness();
      if (services && Object.values(services).every((state) => state === 'ready')) break;
      this.state.set({ isAway: true, services });
      await new Promise((resolve) => setTimeout(resolve, probeMs));
    }
    this.state.set(here);
  }
}

/** @returns nothing when the gateway does not answer */
export async function readReadiness(): Promise<Services | undefined> {
  try {
    const response = await fetch('/readyz', { signal: AbortSignal.timeout(probeLimitMs) });
    return ((await response.json()) as { services?: Services }).services;
  } catch {
    // That it does not answer is the answer.
    return undefined;
  }
}
