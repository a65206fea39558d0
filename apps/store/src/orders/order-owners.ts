import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { CodedError } from '@plant-shop/platform/errors';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { OrderState } from './order.js';

const everybody = '*';

/** Owners by name, for those who may see whose orders are whose. The store keeps no names: identity tells those of now. */
export class OrderOwners {
  constructor(private readonly rpc: RpcClient) {}

  /**
   * Whose orders a list shows; undefined: everybody's.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  async ofList(context: RpcContext, owner: string | undefined): Promise<string | undefined> {
    const { caller } = context;
    if (owner === undefined) return caller.subject;
    const maySeeAll = seesOwners(context);
    const userId = owner === everybody ? undefined : (await this.rpc.call(identity.resolveUsername, { username: owner }, context)).userId;
    if (!maySeeAll && userId !== caller.subject) {
      throw new DomainError('forbidden', "Listing others' orders needs the permission read:orders.");
    }
    return userId;
  }

  /** One call for a page; nobody's for callers who may not see them. Whoever is gone is left out. */
  async namesOf(context: RpcContext, orders: readonly OrderState[]): Promise<ReadonlyMap<string, string>> {
    const userIds = [...new Set(orders.map((order) => order.ownerId))];
    if (!seesOwners(context) || userIds.length === 0) return new Map();
    try {
      const users = await this.rpc.call(identity.resolveUserIds, { userIds }, context);
      return new Map(users.map(({ userId, username }) => [userId, username]));
    } catch (error) {
      // Identity is of the release before. Orders are worth more than names.
      if (error instanceof CodedError && error.code === 'unknown-operation') return new Map();
      throw error;
    }
  }
}

const seesOwners = ({ caller }: RpcContext): boolean => caller.permissions.includes('read:orders');
