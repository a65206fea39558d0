import { Controller } from '@nestjs/common';
import { identity, type SigningKeys } from '@plant-shop/contracts/identity';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { SigningKeysService } from './signing-keys.service.js';

@Controller()
export class SigningKeysController {
  constructor(private readonly keys: SigningKeysService) {}

  @Answers(identity.readSigningKeys)
  readSigningKeys(): Promise<SigningKeys> {
    return this.keys.read();
  }
}
