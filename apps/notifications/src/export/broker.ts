import type { HoldReason } from '@plant-shop/contracts/notifications';

// What the exporter needs of a message broker. Each kind of broker is a file that exports an `OpenBroker`.

/** Time limit of a batch. */
export const batchLimitMs = 5_000;

/** Where to publish. */
export interface BrokerAddress {
  readonly url: URL;
  /** Connect to these only: they were checked, and the name may lead elsewhere by now. */
  readonly addresses: readonly string[];
  /** A file of CAs for its certificate, besides those that Node knows. Empty: none. */
  readonly ca: string;
  readonly stream: string;
  /** The first words of all subjects. */
  readonly subject: string;
  readonly credentials: { readonly user?: string; readonly password?: string; readonly token?: string; readonly creds?: string } | undefined;
}

export interface Message {
  /** Messages of one key are stored in their order. */
  readonly key: string;
  /** Repeats of a message have the same. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Published {
  /** How many of the batch, from its beginning, the broker has acknowledged. */
  readonly count: number;
  /** Those of them that the broker had already. */
  readonly duplicates: number;
  /** Why it has not acknowledged all. */
  readonly held?: Held;
  /** The stream may have lost messages that it had acknowledged: open it again. */
  readonly hasRestarted?: true;
  /** Identifies the last message. Pass it to `open` later. */
  readonly mark: string | undefined;
}

export interface Broker {
  /**
   * Whether the stream still has the message of the mark, as far as the broker can tell. `lost`: messages are missing, and the newest that is left has
   * these headers, if there is one.
   */
  readonly lost: { readonly newest: Readonly<Record<string, string>> | undefined } | undefined;
  /** Why the connection has ended, if it has. */
  readonly fault: Held | undefined;
  /** Resolves when all are acknowledged, or some are not within `batchLimitMs`. */
  publish(batch: readonly Message[]): Promise<Published>;
  close(): Promise<void>;
}

/** @throws Held */
export type OpenBroker = (address: BrokerAddress, mark: string | undefined) => Promise<Broker>;

/** Nothing is published for this reason, until it goes away. The message is shown to administrators. */
export class Held extends Error {
  constructor(
    readonly reason: HoldReason,
    detail: string,
  ) {
    super(detail.slice(0, 500));
  }
}
