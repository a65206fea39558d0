import { Controller } from '@nestjs/common';
import { notifications } from '@plant-shop/contracts/notifications';
import type { AdvanceClock } from '@plant-shop/contracts/store';
import { invalidInput } from '@plant-shop/platform/errors';
import { assertSandbox } from '@plant-shop/platform/postgres/schema-check';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { DueSignal } from './due-signal.js';
import { QueueClock } from './queue-clock.js';
import { emptyQueues } from './sweeps.repository.js';

/** What only a sandbox can do. Without SANDBOX the module does not have it. */
@Controller()
export class SandboxController {
  constructor(
    private readonly clock: QueueClock,
    private readonly due: DueSignal,
  ) {}

  @Answers(notifications.advanceClock)
  async advanceClock({ clock }: AdvanceClock): Promise<Record<string, never>> {
    if (!(await this.clock.advance(clock.advanceSeconds))) {
      throw invalidInput([{ pointer: '/clock/advanceSeconds', detail: 'moves the clock more than 5,000 years ahead in all: use a new sandbox' }]);
    }
    this.due.notify();
    return {};
  }

  @Answers(notifications.resetSandbox)
  async resetSandbox(): Promise<Record<string, never>> {
    await this.clock.transaction(async (tx) => {
      await assertSandbox(tx);
      await emptyQueues(tx);
    });
    return {};
  }
}
