import { Controller, Req, Res } from '@nestjs/common';
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
    await this.forwarder.forward(request, reply, store.advanceClock, {});
  }
}
