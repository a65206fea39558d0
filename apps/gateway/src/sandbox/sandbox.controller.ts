import { Controller, Req, Res } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import { notifications } from '@plant-shop/contracts/notifications';
import { store } from '@plant-shop/contracts/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Serves } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';

@Controller()
export class SandboxController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Serves(store.advanceClock.client)
  async advanceClock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forwarder.call(request, notifications.advanceClock, {});
    await this.forwarder.call(request, identity.advanceClock, {});
    await this.forwarder.forward(request, reply, store.advanceClock, {});
  }

  @Serves(store.resetSandbox.client)
  async resetSandbox(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forwarder.call(request, notifications.resetSandbox, {});
    await this.forwarder.forward(request, reply, store.resetSandbox, {});
  }
}
