import { Injectable } from '@nestjs/common';

/** Tells the worker of this replica that deliveries may be due, so that they need not wait for its next poll. */
@Injectable()
export class DueSignal {
  private raised: () => void = () => undefined;

  onRaised(raised: () => void): void {
    this.raised = raised;
  }

  raise(): void {
    this.raised();
  }
}
