import { Controller } from '@nestjs/common';
import {
  type CreateUser,
  type CreateUsers,
  type DeleteUser,
  type FindUserIds,
  type GetUser,
  identity,
  type ListUsers,
  type PatchUser,
  type ResolveUserIds,
  type ResolveUsername,
  type SetUserRole,
  type UpdateUser,
  type User,
} from '@plant-shop/contracts/identity';
import type { Page, Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { NoPayload } from '@plant-shop/platform/rpc/operation';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { UserDeletionsService } from './user-deletions.service.js';
import { UsersService } from './users.service.js';

@Controller()
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly deletions: UserDeletionsService,
  ) {}

  @Answers(identity.createUser)
  createUser(request: CreateUser, context: RpcContext): Promise<Versioned<User> | Replayed> {
    return this.users.create(context, request);
  }

  @Answers(identity.createUsers)
  createUsers(request: CreateUsers, context: RpcContext): Promise<User[] | Replayed> {
    return this.users.createAll(context, request);
  }

  @Answers(identity.resolveUsername)
  resolveUsername({ username }: ResolveUsername): Promise<{ userId: string }> {
    return this.users.resolve(username);
  }

  @Answers(identity.resolveUserIds)
  resolveUserIds({ userIds }: ResolveUserIds): Promise<{ userId: string; username: string }[]> {
    return this.users.resolveIds(userIds);
  }

  @Answers(identity.findUserIds)
  findUserIds(request: FindUserIds): Promise<{ userIds: string[] }> {
    return this.users.findIds(request);
  }

  @Answers(identity.getUser)
  getUser({ username }: GetUser, context: RpcContext): Promise<Versioned<User>> {
    return this.users.get(context, username);
  }

  @Answers(identity.getOwnUser)
  getOwnUser(_: NoPayload, context: RpcContext): Promise<Versioned<User>> {
    return this.users.getOwn(context);
  }

  @Answers(identity.listUsers)
  listUsers(request: ListUsers, context: RpcContext): Promise<Page<User>> {
    return this.users.list(context, request);
  }

  @Answers(identity.setUserRole)
  setUserRole(request: SetUserRole, context: RpcContext): Promise<Versioned<User>> {
    return this.users.setRole(context, request);
  }

  @Answers(identity.updateUser)
  updateUser(request: UpdateUser, context: RpcContext): Promise<Versioned<User>> {
    return this.users.update(context, request);
  }

  @Answers(identity.patchUser)
  patchUser(request: PatchUser, context: RpcContext): Promise<Versioned<User>> {
    return this.users.patch(context, request);
  }

  @Answers(identity.deleteUser)
  deleteUser(request: DeleteUser, context: RpcContext): Promise<{ username: string }> {
    return this.deletions.delete(context, request);
  }
}
