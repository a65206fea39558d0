import { catalog } from '@plant-shop/contracts/catalog';
import { CodedError } from '@plant-shop/platform/errors';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';

const none: ReadonlySet<string> = new Set();

/** Reads the catalogue's current version stamps from the catalog; concurrent requests share a read. */
export class CatalogVersions {
  private readonly shared: CoalescedRead<ReadonlySet<string>>;
  /** The last answer; mostly it has not changed and need not be parsed again. */
  private bytes: Buffer = Buffer.alloc(0);
  private parsed = none;
  checks = 0;

  constructor(private readonly call: (operation: typeof catalog.readStamps) => Promise<RawAnswer>) {
    this.shared = new CoalescedRead(() => this.read());
  }

  /** Returns stamps that were read after this call. @throws CodedError `unavailable` or another error of the catalog */
  current(): Promise<ReadonlySet<string>> {
    return this.shared.get();
  }

  private async read(): Promise<ReadonlySet<string>> {
    this.checks++;
    try {
      const { payload } = await this.call(catalog.readStamps);
      if (this.bytes.equals(payload)) return this.parsed;
      this.bytes = Buffer.from(payload);
      this.parsed = new Set(JSON.parse(this.bytes.toString()) as string[]);
      return this.parsed;
    } catch (error) {
      // A catalog of the previous release has no stamps, so no cached response is reused.
      if (error instanceof CodedError && error.code === 'unknown-operation') return none;
      throw error;
    }
  }
}
