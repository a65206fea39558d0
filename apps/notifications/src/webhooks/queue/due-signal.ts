import { Injectable } from '@nestjs/common';

/**
 * Tells the worker of this replica that deliveries may be due, so that they need not wait for its next poll. The folders `queue` and
 * `endpoints` make deliveries due and must not import the worker, which is in `sending`: `EventFlow` connects the two.
 */
@Injectable()
export class DueSignal {
  private handle: () => void = () => undefined;

  /** Sets what to do when it notifies. */
  onNotified(handle: () => void): void {
    this.handle = handle;
  }

  /** Call after the commit that made deliveries due. */
  notify(): void {
    this.handle();
  }
}
