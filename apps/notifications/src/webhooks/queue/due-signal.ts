import { Injectable } from '@nestjs/common';

/**
 * Tells the worker of this replica that deliveries may be due, so that they need not wait for its next poll. The folders `queue` and
 * `endpoints` make deliveries due and must not import the worker, which is in `sending`: `EventFlow` connects the two.
 */
@Injectable()
export class DueSignal {
  private handleRaised: () => void = () => undefined;

  /** Sets what to do when the signal is raised. */
  onRaised(handle: () => void): void {
    this.handleRaised = handle;
  }

  /** Call after the commit that made deliveries due. */
  raise(): void {
    this.handleRaised();
  }
}
