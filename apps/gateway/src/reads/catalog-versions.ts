import { catalog } from '@plant-shop/contracts/catalog';
import { CodedError } from '@plant-shop/platform/errors';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';

const none: ReadonlySet<string> = new Set();

/** The stamps that the catalogue has now, asked for once by all requests that come in while the catalog is being asked. */
export class CatalogVersions {
  private readonly shared: CoalescedRead<ReadonlySet<string>>;
  /** What was answered last, since mostly nothing has changed. */
  private bytes: Buffer = Buffer.alloc(0);
  private known = none;
  checks = 0;

  constructor(private readonly ask: (operation: typeof catalog.readStamps) => Promise<RawAnswer>) {
    this.shared = new CoalescedRead(() => this.read());
  }

  /** As they were at some time after this call. @throws CodedError `unavailable` and what else the catalog answers */
  current(): Promise<ReadonlySet<string>> {
    return this.shared.get();
  }

  private async read(): Promise<ReadonlySet<string>> {
    this.checks++;
    try {
      const { payload } = await this.ask(catalog.readStamps);
      if (this.bytes.equals(payload)) return this.known;
      this.bytes = Buffer.from(payload);
      this.known = new Set(JSON.parse(this.bytes.toString()) as string[]);
      return this.known;
    } catch (error) {
      // A catalog of the release before: nothing can be checked, so everything is asked for.
      if (error instanceof CodedError && error.code === 'unknown-operation') return none;
      throw error;
    }
  }
}
