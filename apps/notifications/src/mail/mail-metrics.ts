import { Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { counter, gauge } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import { type MailBacklog, readMailBacklog } from './mails.repository.js';

const intervalMs = 15_000;

/** Metrics of mail: attempts of this replica, and every 15 s the backlog of all replicas. */
@Injectable()
export class MailMetrics extends BackgroundLoop {
  /** Counts an attempt: `sent`, `failed` if it was the last, or `pending`. */
  readonly attempted: (outcome: string) => void;
  private backlog: MailBacklog = { waiting: 0, due: 0, held: 0, oldestSeconds: 0, overdueSeconds: 0, outdated: 0 };

  constructor(
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    registry: Registry,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'count mails', intervalMs }, () => this.count(), logger);
    this.attempted = counter(registry, 'mail_attempts_total', 'Attempts to send a mail, by what became of it; pending: it is tried again', 'outcome');
    gauge(registry, 'mail_waiting', 'Mails that are due now or later', () => this.backlog.waiting);
    gauge(registry, 'mail_due', 'Mails that are due, and that no replica sends yet', () => this.backlog.due);
    gauge(registry, 'mail_held', 'Mails that wait because their user got too many within an hour', () => this.backlog.held);
    gauge(registry, 'mail_oldest_seconds', 'Age of the oldest mail that is due now or later', () => this.backlog.oldestSeconds);
    gauge(registry, 'mail_overdue_seconds', 'How long the first due mail has waited for a replica that sends it', () => this.backlog.overdueSeconds);
    gauge(registry, 'mail_secrets_to_reencrypt', 'Texts and addresses of mails that are encrypted with a former key', () => this.backlog.outdated);
  }

  private async count(): Promise<boolean> {
    this.backlog = await this.clock.transaction((tx) => readMailBacklog(tx, this.cipher.keyId));
    return false;
  }
}
