import { Controller } from '@nestjs/common';
import { identity, type Login, type Logout, type Session } from '@plant-shop/contracts/identity';
import type { EndSession, EndSessions, ListSessions, OpenSession } from '@plant-shop/contracts/identity.sessions';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { SessionsService } from './sessions.service.js';

@Controller()
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Answers(identity.login)
  login(request: Login, context: RpcContext): Promise<Session> {
    return this.sessions.login(context, request);
  }

  @Answers(identity.listSessions)
  listSessions(request: ListSessions, context: RpcContext): Promise<OpenSession[]> {
    return this.sessions.list(context, request);
  }

  @Answers(identity.endSession)
  endSession(request: EndSession, context: RpcContext): Promise<{ ended: string }> {
    return this.sessions.end(context, request);
  }

  @Answers(identity.endSessions)
  endSessions(request: EndSessions, context: RpcContext): Promise<{ ended: number }> {
    return this.sessions.endAll(context, request);
  }

  @Answers(identity.logout)
  logout({ digest }: Logout): Promise<{ ended: boolean }> {
    return this.sessions.logout(digest);
  }
}
