import { Cell } from './cell.js';
import { fetchOrUpload } from './uploads.js';

/** State of each service: `ready`, or why it is not. */
export type Services = Readonly<Record<string, string>>;

export type ConnectionState = { readonly isAway: false } | { readonly isAway: true; readonly services: Services | undefined };

const here: ConnectionState = { isAway: false };
/** How often a page that is seen asks, although nothing has failed. */
const checkMs = 10_000;
const probeMs = 1_500;
/** Twice what the gateway needs to say that a service is frozen. */
const probeLimitMs = 3_000;
/** Statuses with which a proxy or the gateway reports an unreachable service. */
const awayStatuses = [502, 503, 504];

/** What people are told. A change needs two requests at most, and each waits for 15 seconds. */
export const sentWhileAway = 'What you send waits for that, for half a minute at most.';

/**
 * Whether the shop can be reached. A failed request is only a hint: it starts polling `/readyz`, until all services are
 * ready. So does a service that is not ready: a frozen one leaves requests and the event stream open and silent.
 * A gateway is away that leaves two checks without an answer: one may be late on a slow network.
 */
export class Connection {
  readonly state = new Cell<ConnectionState>(here);
  /** Whether an answer has said that the shop is a sandbox. Answers of proxies do not, so it stays true. */
  readonly isSandbox = new Cell(false);
  /** Whether this computer has a network at all. */
  readonly isOnline = new Cell(navigator.onLine);
  private probing: Promise<void> | undefined;

  constructor() {
    for (const event of ['online', 'offline']) window.addEventListener(event, () => this.isOnline.set(navigator.onLine));
    window.addEventListener('offline', () => this.suspect());
    const watch = (): void => {
      if (document.visibilityState !== 'hidden' && !this.probing) void this.check();
    };
    setInterval(watch, checkMs);
    document.addEventListener('visibilitychange', watch);
  }

  /** `fetch` for the client library. The library retries on its own, so failures are only visible here. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    try {
      const response = await fetchOrUpload(input, init);
      if (response.headers.get('x-shop-mode') === 'sandbox') this.isSandbox.set(true);
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

  /** Reads the services' states, and polls them from then on if one is not ready. */
  async check(): Promise<Services | undefined> {
    const services = await readReadiness();
    if (!areReady(services)) this.suspect();
    return services;
  }

  private async probe(): Promise<void> {
    for (;;) {
      const services = await readReadiness();
      if (areReady(services)) break;
      this.state.set({ isAway: true, services });
      await new Promise((resolve) => setTimeout(resolve, probeMs));
    }
    this.state.set(here);
  }
}

const areReady = (services: Services | undefined): boolean => services !== undefined && Object.values(services).every((state) => state === 'ready');

/** @returns undefined if the gateway does not answer in time */
async function readReadiness(): Promise<Services | undefined> {
  try {
    const response = await fetch('/readyz', { signal: AbortSignal.timeout(probeLimitMs) });
    return ((await response.json()) as { services?: Services }).services;
  } catch {
    // No answer is a result, too.
    return undefined;
  }
}
