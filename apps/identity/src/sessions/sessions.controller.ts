import { Controller } from '@nestjs/common';
import { identity, type Login, type Logout, type Session } from '@plant-shop/contracts/identity';
import { Answers } from '@plant-shop/platform/rpc/answers';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { SessionsService } from './sessions.service.js';

@Controller()
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Answers(identity.login)
  login(request: Login, context: RpcContext): Promise<Session> {
    return this.sessions.login(context, request);
  }

  @Answers(identity.logout)
  logout({ digest }: Logout): Promise<{ ended: boolean }> {
    return this.sessions.logout(digest);
  }
}
