import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Module } from '@nestjs/common';
import { CodedError } from '@plant-shop/platform/errors';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { operationsOf } from '@plant-shop/platform/rpc/operation';
import type { Service } from '@plant-shop/platform/service/service';
import { IsInt } from 'class-validator';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { startService, TestCaller } from './service.js';

class Double {
  @IsInt({ message: 'must be a whole number' })
  number: number;
}
const double = operationsOf('calculator').read<{ doubled: number }>()('double', Double);

@Controller()
class CalculatorController {
  @Answers(double)
  async double(payload: Double, context: RpcContext): Promise<{ doubled: number }> {
    if (payload.number === 13) throw new CodedError('bad-luck', `13 for ${context.requestId}`);
    return { doubled: payload.number * 2 };
  }
}
@Module({ controllers: [CalculatorController] })
class CalculatorModule {}

describe('a service and its caller in one process, over real NATS', () => {
  let nats: TestNats;
  let service: Service;
  let caller: TestCaller;
  beforeAll(async () => {
    nats = await startNats();
    service = await startService('calculator', nats.url, (s) => s.answer(CalculatorModule, { maxInFlight: 10 }));
    caller = await TestCaller.connect(nats.url);
  });
  afterAll(async () => {
    await caller.close();
    await service.stop();
    await nats.stop();
  });

  it('ends when its start fails', async () => {
    let begun: Service | undefined;
    const starting = startService('broken', nats.url, (one) => {
      begun = one;
      return Promise.reject(new Error('cannot start'));
    });
    await expect(starting).rejects.toThrow('cannot start');
    expect(begun?.nats.connection.isClosed()).toBe(true);
  });

  it("answers with the controller's result", async () => {
    await expect(caller.call(double, { number: 21 })).resolves.toEqual({ doubled: 42 });
  });

  it('answers with the code of an error', async () => {
    await expect(caller.call(double, { number: 13 })).rejects.toMatchObject({ code: 'bad-luck', message: '13 for test' });
  });

  it('refuses a payload that does not match its class, with a pointer', async () => {
    await expect(caller.call(double, { number: '7' } as never)).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/number', detail: 'must be a whole number' }] },
    });
  });
});
