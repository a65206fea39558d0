import { Controller } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { Database } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers';
import { SharedRead } from '@plant-shop/platform/shared-read';
import { readStamps } from './stamps.repository.js';

@Controller()
export class StampsController {
  private readonly current: SharedRead<string[]>;

  constructor(database: Database) {
    this.current = new SharedRead(() => readStamps(database));
  }

  @Answers(catalog.readStamps)
  readStamps(): Promise<string[]> {
    return this.current.get();
  }
}
