import { Controller } from '@nestjs/common';
import { identity, type ResolveOAuthClients } from '@plant-shop/contracts/identity';
import type {
  CreatedOAuthClient,
  CreateOAuthClient,
  DeleteOAuthClient,
  GetOAuthClient,
  ListOAuthClients,
  OAuthClient,
  RotateOAuthClientSecret,
} from '@plant-shop/contracts/identity.oauth';
import type { Page, Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { OAuthClientsService } from './oauth-clients.service.js';

@Controller()
export class OAuthClientsController {
  constructor(private readonly clients: OAuthClientsService) {}

  @Answers(identity.createOAuthClient)
  createOAuthClient(request: CreateOAuthClient, context: RpcContext): Promise<CreatedOAuthClient | Replayed> {
    return this.clients.create(context, request);
  }

  @Answers(identity.listOAuthClients)
  listOAuthClients(request: ListOAuthClients, context: RpcContext): Promise<Page<OAuthClient>> {
    return this.clients.list(context, request);
  }

  @Answers(identity.getOAuthClient)
  getOAuthClient({ clientId }: GetOAuthClient, context: RpcContext): Promise<OAuthClient> {
    return this.clients.get(context, clientId);
  }

  @Answers(identity.resolveOAuthClients)
  resolveOAuthClients({ clientIds }: ResolveOAuthClients): Promise<{ clientId: string; name: string }[]> {
    return this.clients.namesOf(clientIds);
  }

  @Answers(identity.deleteOAuthClient)
  deleteOAuthClient({ clientId }: DeleteOAuthClient, context: RpcContext): Promise<OAuthClient> {
    return this.clients.delete(context, clientId);
  }

  @Answers(identity.rotateOAuthClientSecret)
  rotateOAuthClientSecret(
    request: RotateOAuthClientSecret,
    context: RpcContext,
  ): Promise<CreatedOAuthClient | Replayed> {
    return this.clients.rotateSecret(context, request);
  }
}
