import { readFileSync } from 'node:fs';
import type { CaughtMail } from './history.js';

/** The mails that the shop's mail server accepts from now on. */
export class CaughtMails {
  private readonly mails: CaughtMail[] = [];
  private seenBytes: number;

  constructor(private readonly journal: string) {
    this.seenBytes = readFileSync(journal).length;
  }

  /** Reads what was added to the journal. The last line may be incomplete while it is being written. */
  get all(): readonly CaughtMail[] {
    const added = readFileSync(this.journal).subarray(this.seenBytes);
    const lines = added.subarray(0, added.lastIndexOf('\n') + 1);
    this.seenBytes += lines.length;
    for (const line of lines.toString('utf8').split('\n').filter(Boolean)) {
      const mail = JSON.parse(line) as CaughtMail;
      this.mails.push({ ...mail, at: mail.at - performance.timeOrigin });
    }
    return this.mails;
  }
}
