import { Injectable } from '@nestjs/common';

/** Tells the worker of this replica that deliveries may be due, so that they need not wait for its next poll. */
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
