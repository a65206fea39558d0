import { Controller } from '@nestjs/common';
import { type AdvanceQueueClock, notifications } from '@plant-shop/contracts/notifications';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { DueSignal } from '../queue/due-signal.js';
import { QueueClock } from '../queue/queue-clock.js';

/** What only a sandbox can do. */
@Controller()
export class SandboxController {
  constructor(
    private readonly clock: QueueClock,
    private readonly due: DueSignal,
  ) {}

  @Answers(notifications.advanceClock)
  async advanceClock({ clock }: AdvanceQueueClock): Promise<Record<string, never>> {
    await this.clock.advance(clock.advanceSeconds);
    this.due.notify();
    return {};
  }
}
