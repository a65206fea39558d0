import { Controller } from '@nestjs/common';
import { type CheckCredential, type Credential, identity, type ResolveSubject } from '@plant-shop/contracts/identity';
import type { Permission } from '@plant-shop/contracts/permissions';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { CredentialsService } from './credentials.service.js';

@Controller()
export class CredentialsController {
  constructor(private readonly credentials: CredentialsService) {}

  @Answers(identity.checkCredential)
  checkCredential(request: CheckCredential): Promise<Credential> {
    return this.credentials.check(request);
  }

  @Answers(identity.resolveSubject)
  resolveSubject({ userId }: ResolveSubject): Promise<{ permissions: Permission[]; position: number }> {
    return this.credentials.resolveSubject(userId);
  }
}
