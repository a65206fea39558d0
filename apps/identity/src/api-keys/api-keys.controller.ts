import { Controller } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { ApiKey, CreateApiKey, CreatedApiKey, ListApiKeys, RevokeApiKey, RotateApiKey } from '@plant-shop/contracts/identity.api-keys';
import type { Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { ApiKeysService } from './api-keys.service.js';

@Controller()
export class ApiKeysController {
  constructor(private readonly apiKeys: ApiKeysService) {}

  @Answers(identity.createApiKey)
  createApiKey(request: CreateApiKey, context: RpcContext): Promise<CreatedApiKey | Replayed> {
    return this.apiKeys.create(context, request);
  }

  @Answers(identity.listApiKeys)
  listApiKeys({ username }: ListApiKeys, context: RpcContext): Promise<ApiKey[]> {
    return this.apiKeys.list(context, username);
  }

  @Answers(identity.revokeApiKey)
  revokeApiKey(request: RevokeApiKey, context: RpcContext): Promise<ApiKey> {
    return this.apiKeys.revoke(context, request);
  }

  @Answers(identity.rotateApiKey)
  rotateApiKey(request: RotateApiKey, context: RpcContext): Promise<CreatedApiKey | Replayed> {
    return this.apiKeys.rotate(context, request);
  }
}
