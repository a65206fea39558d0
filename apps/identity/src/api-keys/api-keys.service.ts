import { randomUUID } from 'node:crypto';
import { Controller, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import type { ApiKey, CreateApiKey, CreatedApiKey, ListApiKeys, RevokeApiKey, RotateApiKey } from '@plant-shop/contracts/identity.api-keys';
import type { Permission } from '@plant-shop/contracts/permissions';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Replayed, unwrapResponse } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { auditUnlessSelf, findUser, lockUser } from '../users/users.repository.js';
import { readDatabaseTime } from '../database-clock.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { type Proof, RecentLogin } from '../users/recent-login.js';
import { MailOutbox } from '../mail/outbox.js';
import { newSecret, sha256 } from '../secrets/secrets.js';
import { requireManageable, userNotFound, type UserRecord } from '../users/user.js';
import {
  apiKeyNotFound,
  assertMayReceive,
  assertNotExpired,
  assertReplaceable,
  defaultGraceSeconds,
  effectivePermissions,
  grantedPermissions,
  keyPrefix,
  keyPrefixLength,
  maxLiveKeys,
  rotationRevocation,
} from './api-key.js';
import {
  countLiveKeys,
  endAfterGrace,
  insertKey,
  insertSuccessor,
  listLiveKeys,
  lockKeyToReplace,
  revokeKey,
  toApiKey,
} from '../api-keys.repository.js';

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly database: Database,
    private readonly revocations: RevocationsService,
    private readonly recentLogin: RecentLogin,
    private readonly outbox: MailOutbox,
  ) {}

  create(context: RpcContext, { username, apiKey: { currentPassword, currentCode, ...apiKey }, address }: CreateApiKey): Promise<CreatedApiKey | Replayed> {
    return this.createOnce(context, { username, change: apiKey, currentPassword, currentCode, address, requested: apiKey.permissions ?? [] }, async (tx, user) => {
      const permissions = grantedPermissions(apiKey.permissions, user.role, context.principal);
      assertNotExpired(apiKey, new Date(await readDatabaseTime(tx)));
      if ((await countLiveKeys(tx, user.userId)) >= maxLiveKeys) {
        throw new DomainError('too-many-api-keys', `Revoke a key first: a user has at most ${maxLiveKeys}.`);
      }
      const { key, ...generated } = generateKey();
      const { name, expiresAt } = apiKey;
      const created = await insertKey(tx, { ...generated, userId: user.userId, name, permissions, expiresAt });
      if (!created) throw new Error('the generated key exists already');
      auditUnlessSelf(tx, context, identity.createApiKey, user.userId, `${user.userId}/${generated.id}`);
      return { ...toApiKey(created), key };
    });
  }

  async list(context: RpcContext, username: string): Promise<ApiKey[]> {
    const { userId } = requireManageable(context.principal, await findUser(this.database, username));
    return (await listLiveKeys(this.database, userId)).map(toApiKey);
  }

  async revoke(context: RpcContext, { username, apiKeyId }: RevokeApiKey): Promise<ApiKey> {
    const revoked = await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const key = await revokeKey(tx, userId, apiKeyId);
      if (!key) throw apiKeyNotFound();
      await appendRevocations(tx, [{ kind: 'apiKey', id: apiKeyId }]);
      auditUnlessSelf(tx, context, identity.revokeApiKey, userId, `${userId}/${apiKeyId}`);
      return key;
    });
    this.revocations.publish();
    return toApiKey(revoked);
  }

  async rotate(
    context: RpcContext,
    { username, apiKeyId, rotation: { currentPassword, currentCode, ...rotation }, address }: RotateApiKey,
  ): Promise<CreatedApiKey | Replayed> {
    const { graceSeconds = defaultGraceSeconds } = rotation;
    const successor = await this.createOnce(context, { username, change: { apiKeyId, ...rotation }, currentPassword, currentCode, address }, async (tx, { userId, role }) => {
      const predecessor = await lockKeyToReplace(tx, userId, apiKeyId);
      assertReplaceable(predecessor);
      const { key, ...generated } = generateKey();
      const permissions = effectivePermissions(predecessor.permissions, role);
      const created = await insertSuccessor(tx, apiKeyId, { ...generated, permissions });
      await endAfterGrace(tx, apiKeyId, created.id, graceSeconds);
      await appendRevocations(tx, [rotationRevocation(userId, apiKeyId, graceSeconds)]);
      auditUnlessSelf(tx, context, identity.rotateApiKey, userId, `${userId}/${apiKeyId}`);
      return { ...toApiKey(created), key };
    });
    this.revocations.publish();
    return successor;
  }

  /**
   * Creates a key once per Idempotency-Key. A repeated request is authorised too: its saved answer contains the key. A refusal of
   * the new key rolls the transaction back.
   */
  private async createOnce(
    context: RpcContext,
    { username, change, requested, ...proof }: Proof & { readonly username: string; readonly change: object; readonly requested?: readonly Permission[] },
    create: (tx: Transaction, user: UserRecord) => Promise<CreatedApiKey>,
  ): Promise<CreatedApiKey | Replayed> {
    const { principal } = context;
    const found = requireManageable(principal, await findUser(this.database, username));
    if (requested) assertMayReceive(principal, found.userId, requested);
    await this.recentLogin.require(context, proof);
    // Without the password, of which the fingerprint would be a fast hash.
    const key = context.idempotency?.forRequest(Buffer.from(JSON.stringify({ username, ...change })));
    return this.database.transaction(async (tx) => {
      const { userId } = requireManageable(principal, await findUser(tx, username));
      const answer = await runOnce(tx, key, async () => {
        const user = await lockUser(tx, userId);
        if (!user) throw userNotFound();
        const created = await create(tx, user);
        await this.outbox.notice(tx, user, 'key-added', { keyName: created.name, from: principal.subject === userId ? proof.address : undefined });
        return created;
      });
      assertMayReceive(principal, userId, (unwrapResponse(answer).value as CreatedApiKey).permissions);
      return answer;
    });
  }
}

function generateKey(): { readonly id: string; readonly key: string; readonly keyHash: Buffer; readonly prefix: string } {
  const key = newSecret(keyPrefix);
  return { id: randomUUID(), key, keyHash: sha256(key), prefix: key.slice(0, keyPrefixLength) };
}

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
