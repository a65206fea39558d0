import { Controller } from '@nestjs/common';
import { identity, type ReadRevocations, type Revocations } from '@plant-shop/contracts/identity';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RevocationsService } from './revocations.service.js';

@Controller()
export class RevocationsController {
  constructor(private readonly revocations: RevocationsService) {}

  @Answers(identity.readRevocations)
  readRevocations(request: ReadRevocations): Promise<Revocations> {
    return this.revocations.read(request);
  }
}
