import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import type { CreatedOAuthClient, CreateOAuthClient, ListOAuthClients, OAuthClient, RotateOAuthClientSecret } from '@plant-shop/contracts/identity.oauth';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { invalidInput } from '@plant-shop/platform/errors';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, unwrapResponse } from '@plant-shop/platform/rpc/answer';
import type { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { type FindOneOptions, In, LessThan } from 'typeorm';
import { newSecret } from '../secrets/secrets.js';
import { RecentLogin } from '../users/recent-login.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { assertHasAll } from '../users/user.js';
import { findUser } from '../users/users.repository.js';
import { OAuthClientEntity } from '../database.js';
import { assertManagesClients, clientErrors, clientNotFound, maxClients, toOAuthClient, withSecret } from './oauth-client.js';

const secretPrefix = 'pscs_';

@Injectable()
export class OAuthClientsService {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly revocations: RevocationsService,
    private readonly recentLogin: RecentLogin,
  ) {}

  async create(context: RpcContext, { client: { currentPassword, currentCode, ...client }, address }: CreateOAuthClient): Promise<CreatedOAuthClient | Replayed> {
    assertManagesClients(context.principal);
    assertHasAll(context.principal, client.scopes);
    throwIfInvalid(clientErrors(client));
    await this.recentLogin.require(context, { currentPassword, currentCode, address });
    // Without the password, of which the fingerprint would be a fast hash.
    const key = context.idempotency?.forRequest(Buffer.from(JSON.stringify(client)));
    const secret = client.public ? undefined : await this.newSecret(context.deadline);
    return this.database.transaction((tx) =>
      runOnce(tx, key, async () => {
        const clients = tx.repository(OAuthClientEntity);
        // Until the transaction ends, other creations wait here: each counts those before it, and positions commit in their order.
        tx.send(`SELECT pg_advisory_xact_lock(hashtext('oauth clients'))`);
        if ((await clients.count()) >= maxClients) {
          throw new DomainError('too-many-oauth-clients', `Delete a client first: there are at most ${maxClients}.`);
        }
        // Random, so never reused: the revocation log may contain ids of deleted clients.
        const clientId = randomBytes(12).toString('hex');
        await clients.insert({
          clientId,
          name: client.name,
          redirectUris: client.redirectUris ?? [],
          postLogoutRedirectUris: client.postLogoutRedirectUris ?? [],
          grantTypes: client.grantTypes,
          scopes: client.scopes,
          ownerId: client.owner === undefined ? null : await ownerId(tx, client.owner),
          secretId: secret?.secretId ?? null,
          secretHash: secret?.secretHash ?? null,
        });
        audit(tx, actorOf(context), identity.createOAuthClient, clientId);
        return withSecret(found(await clients.findOneBy({ clientId })), secret?.secret);
      }),
    );
  }

  /** Returns a page, newest first. */
  async list({ principal }: RpcContext, requested: ListOAuthClients): Promise<Page<OAuthClient>> {
    assertManagesClients(principal);
    const paging = new Paging('oauth-clients', byNumber);
    const bounds = paging.bounds(requested);
    const page = { where: { position: LessThan(bounds.after) }, order: { position: 'DESC' }, take: bounds.limit + 1 } as const;
    const clients = await this.database.repository(OAuthClientEntity).find(page);
    return paging.page(clients, bounds, { entry: toOAuthClient, position: ({ position }) => position });
  }

  async get({ principal }: RpcContext, clientId: string): Promise<OAuthClient> {
    assertManagesClients(principal);
    return toOAuthClient(found(await this.database.repository(OAuthClientEntity).findOneBy({ clientId })));
  }

  /** Returns the names of those that there are. */
  async namesOf(clientIds: readonly string[]): Promise<{ clientId: string; name: string }[]> {
    const clients = await this.database.repository(OAuthClientEntity).find({ where: { clientId: In([...clientIds]) }, select: { clientId: true, name: true } });
    return clients.map(({ clientId, name }) => ({ clientId, name }));
  }

  /** Deletes the client with its codes, refresh tokens and grants. Its access tokens end by the revocation log. */
  async delete(context: RpcContext, clientId: string): Promise<OAuthClient> {
    assertManagesClients(context.principal);
    const deleted = await this.database.transaction(async (tx) => {
      const clients = tx.repository(OAuthClientEntity);
      const client = found(await clients.findOne(locked(clientId)));
      await clients.delete(clientId);
      await appendRevocations(tx, [{ kind: 'client', id: clientId }]);
      audit(tx, actorOf(context), identity.deleteOAuthClient, clientId);
      return client;
    });
    this.revocations.publish();
    return toOAuthClient(deleted);
  }

  async rotateSecret(context: RpcContext, { clientId, ...proof }: RotateOAuthClientSecret): Promise<CreatedOAuthClient | Replayed> {
    assertManagesClients(context.principal);
    await this.recentLogin.require(context, proof);
    const key = context.idempotency?.forRequest(Buffer.from(JSON.stringify({ clientId })));
    const { secret, ...stored } = await this.newSecret(context.deadline);
    const rotated = await this.database.transaction(async (tx) => {
      const answer = await runOnce(tx, key, async () => {
        const clients = tx.repository(OAuthClientEntity);
        const client = found(await clients.findOne(locked(clientId)));
        if (client.secretId === null) {
          throw new DomainError('oauth-client-public', 'A public client has no secret to rotate.');
        }
        await clients.update(clientId, stored);
        await appendRevocations(tx, [{ kind: 'clientSecret', id: client.secretId }]);
        audit(tx, actorOf(context), identity.rotateOAuthClientSecret, clientId);
        return withSecret(client, secret);
      });
      // Also for a repeated request, whose saved answer contains the secret. Rolls a rotation back.
      assertHasAll(context.principal, (unwrapResponse(answer).value as CreatedOAuthClient).scopes);
      return answer;
    });
    this.revocations.publish();
    return rotated;
  }

  /** Generates a secret. It is hashed like secrets that people choose, because both are verified in the same way. */
  private async newSecret(
    deadline: Deadline,
  ): Promise<{ readonly secret: string; readonly secretId: string; readonly secretHash: string }> {
    const secret = newSecret(secretPrefix);
    return { secret, secretId: randomUUID(), secretHash: await this.hasher.hash(secret, deadline) };
  }
}

async function ownerId(tx: Transaction, username: string): Promise<string> {
  const owner = await findUser(tx, username);
  if (!owner) throw invalidInput([{ pointer: '/client/owner', detail: 'must be the name of a user' }]);
  return owner.userId;
}

/** Finds the client and locks it until the transaction ends, so that secrets are rotated one at a time. */
const locked = (clientId: string): FindOneOptions<OAuthClientEntity> => ({ where: { clientId }, lock: { mode: 'for_no_key_update' } });

function found(client: OAuthClientEntity | null): OAuthClientEntity {
  if (!client) throw clientNotFound();
  return client;
}

function throwIfInvalid(errors: Parameters<typeof invalidInput>[0]): void {
  if (errors.length > 0) throw invalidInput(errors);
}
