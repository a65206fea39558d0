import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import type { ApiKey, CreateApiKey, CreatedApiKey, RevokeApiKey } from '@plant-shop/contracts/identity';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { newSecret, sha256 } from '../credentials/secret.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { managed, userNotFound } from '../users/user.js';
import { findUser, lockUser } from '../users/users.repository.js';
import { assertNotExpired, grantedPermissions, keyPrefix, maxLiveKeys, shownCharacters, toApiKey } from './api-key.js';
import { countLiveKeys, insertKey, listLiveKeys, revokeKey } from './api-keys.repository.js';

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly database: Database,
    private readonly revocations: RevocationsService,
  ) {}

  create(context: RpcContext, { username, apiKey }: CreateApiKey): Promise<CreatedApiKey> {
    return this.database.transaction(async (tx) => {
      const { userId } = managed(context.caller, await findUser(tx, username));
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      const permissions = grantedPermissions(apiKey.permissions, user.role);
      assertNotExpired(apiKey, new Date());
      if ((await countLiveKeys(tx, userId)) >= maxLiveKeys) {
        throw new DomainError('too-many-api-keys', `Revoke a key first: a user has at most ${maxLiveKeys}.`);
      }
      const key = newSecret(keyPrefix);
      const created = await insertKey(tx, {
        id: randomUUID(),
        userId,
        name: apiKey.name,
        prefix: key.slice(0, shownCharacters),
        keyHash: sha256(key),
        permissions,
        expiresAt: apiKey.expiresAt,
      });
      if (!created) throw new Error('two random keys are the same');
      return { ...toApiKey(created), key };
    });
  }

  async list(context: RpcContext, username: string): Promise<ApiKey[]> {
    const { userId } = managed(context.caller, await findUser(this.database, username));
    return (await listLiveKeys(this.database, userId)).map(toApiKey);
  }

  async revoke(context: RpcContext, { username, apiKeyId }: RevokeApiKey): Promise<ApiKey> {
    const revoked = await this.database.transaction(async (tx) => {
      const { userId } = managed(context.caller, await findUser(tx, username));
      const key = await revokeKey(tx, userId, apiKeyId);
      if (!key) throw new DomainError('api-key-not-found', 'The user has no such API key, or it is revoked already.');
      await appendRevocations(tx, [{ kind: 'apiKey', id: apiKeyId }]);
      return key;
    });
    this.revocations.nudge();
    return toApiKey(revoked);
  }
}
