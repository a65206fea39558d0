import { Controller } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { Answers } from '@plant-shop/platform/rpc/answers';
import { StampsService } from './stamps.service.js';

@Controller()
export class StampsController {
  constructor(private readonly stamps: StampsService) {}

  @Answers(catalog.readStamps)
  readStamps(): Promise<readonly string[]> {
    return this.stamps.current();
  }
}
