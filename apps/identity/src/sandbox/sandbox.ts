import { Controller, Injectable } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type { AdvanceClock } from '@plant-shop/contracts/store';
import { actorOf } from '@plant-shop/platform/patterns/audit-log';
import { Database } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { accessTokenTtl } from '../oauth/signing-key.js';
import { OAuthServer } from '../oauth/oauth-server.js';
import { SigningKeysService } from '../oauth/signing-keys.service.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { expireEarlier } from './sandbox.repository.js';

/** What only a sandbox can do. Without SANDBOX the module does not have it. */
@Injectable()
export class SandboxService {
  constructor(
    private readonly database: Database,
    private readonly keys: SigningKeysService,
    private readonly oauth: OAuthServer,
    private readonly revocations: RevocationsService,
  ) {}

  /** Lets credentials end earlier. An access token carries its own end, so all of them end if the time is as long as one lives. */
  async advance(context: RpcContext, advanceSeconds: number): Promise<void> {
    await this.database.transaction(async (tx) => {
      const earlier = await expireEarlier(tx, advanceSeconds);
      const ended = earlier.filter((one) => one.ended);
      const shortened = new Set(earlier.flatMap((one) => (one.ended ? [] : one.userId)));
      await appendRevocations(tx, [
        ...ended.map(({ kind, id }) => ({ kind, id })),
        // Cached answers have the former end.
        ...[...shortened].map((id) => ({ kind: 'userChanged' as const, id })),
      ]);
    });
    if (advanceSeconds >= accessTokenTtl) {
      await this.keys.revoke(actorOf(context), 'all');
      // Other replicas, which a sandbox in Kubernetes has, sign with a revoked key for up to a second longer.
      await this.oauth.refreshKeys();
    }
    this.revocations.publish();
  }
}

@Controller()
export class SandboxController {
  constructor(private readonly sandbox: SandboxService) {}

  @Answers(identity.advanceClock)
  async advanceClock({ clock: { advanceSeconds, scope } }: AdvanceClock, context: RpcContext): Promise<Record<string, never>> {
    if (scope === 'all') await this.sandbox.advance(context, advanceSeconds);
    return {};
  }
}
