import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { eventTypes } from '@plant-shop/contracts/events';
import { CodedError } from '@plant-shop/platform/errors';
import fc from 'fast-check';
import { readRequest, type StreamRequest } from './request.js';

const read = (query: string): StreamRequest => readRequest({ url: `/v1/orders/updates?api_key=key&${query}`, headers: {}, socket: {} } as IncomingMessage);
const resultOf = (query: string): unknown => {
  try {
    return read(query).filter.types.types;
  } catch (error) {
    if (error instanceof CodedError) return error.details.errors?.[0] ?? error.code;
    throw error;
  }
};

describe('the parameters orderId and plantId', () => {
  it('may be ids, comma-separated and repeated', () => {
    expect(read('orderId=7,8&orderId=9&plantId=1').filter).toMatchObject({ orderIds: [7, 8, 9], plantIds: [1] });
  });

  it.each(['orderId', 'plantId'])('accept ids in the form that the gateway accepts only: %s', (name) => {
    for (const id of ['007', '0', '1e3', '', '9007199254740992']) {
      expect(resultOf(`${name}=${id}`)).toEqual({ parameter: name, detail: `${name} must be a whole number from 1 to 9007199254740991` });
    }
  });
});

describe('the parameter types', () => {
  it('defaults to status changes alone', () => expect(read('').filter.types.types).toEqual(['order.status_changed']));

  it('may be a comma-separated list, with spaces, and repeated', () => {
    expect(read('types=refund.due,%20order.placed&types=order.placed').filter.types.types).toEqual(['order.placed', 'refund.due']);
    expect(read(`types=${eventTypes.join()}`).filter.types.types).toEqual(eventTypes);
  });

  it('gives the same object for the same types, so that clients share bytes', () => {
    expect(read('types=refund.due,order.placed').filter.types).toBe(read('types=order.placed,refund.due').filter.types);
    expect(read('types=order.status_changed').filter.types).toBe(read('').filter.types);
  });

  it('accepts known names only, for any input (slow)', () => {
    // fast-check's strings of all code points first build a map of a million of them, which takes seconds.
    const anyText = fc.array(fc.nat(0x10ffff), { maxLength: 20 }).map((points) => String.fromCodePoint(...points));
    const name = fc.oneof(fc.constantFrom(...eventTypes, '', '*', ',', ' ', 'order.', '__proto__', 'stream.gap', '\0'), fc.string({ maxLength: 20 }), anyText);
    fc.assert(
      fc.property(fc.array(name, { maxLength: 6 }), (names) => {
        const query = new URLSearchParams(names.map((one) => ['types', one])).toString();
        const asked = names.join().split(',').map((one) => one.toWellFormed().trim());
        const areKnown = asked.every((one) => (eventTypes as readonly string[]).includes(one));
        const expected = eventTypes.filter((one) => asked.includes(one));
        const refusal = names.join().includes('\0') ? 'malformed-request' : expect.objectContaining({ parameter: 'types' });
        expect(resultOf(query)).toEqual(names.length === 0 ? ['order.status_changed'] : areKnown ? expected : refusal);
      }),
      { numRuns: 2_000 },
    );
  });
});
