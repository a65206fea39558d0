import type { Provider } from '@nestjs/common';
import { MailMetrics } from './mail-metrics.js';
import { MailSweeper } from './mail-sweeper.js';
import { MailWorker } from './mail-worker.js';
import { OrderMails } from './order-mails.js';

/** The parts of a replica that sends mail. */
export const mailProviders: Provider[] = [MailMetrics, MailWorker, OrderMails, MailSweeper];
