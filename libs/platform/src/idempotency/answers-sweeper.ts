import { Injectable } from '@nestjs/common';
import type { Logger } from '../logging.js';
import { Database } from '../postgres/database.js';
import { BackgroundLoop } from '../service/background-loop.js';
import { InjectLogger } from '../service/infrastructure.module.js';
import { sweepSavedAnswers } from './saved-answers.js';

const batch = 1_000;

/** Deletes expired saved answers. Every service that saves answers provides it. */
@Injectable()
export class AnswersSweeper extends BackgroundLoop {
  constructor(database: Database, @InjectLogger() logger: Logger) {
    super(
      { name: 'sweep saved answers', intervalMs: 60_000 },
      async () => (await database.transaction((tx) => sweepSavedAnswers(tx, batch))) === batch,
      logger,
    );
  }
}
