import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { Ajv, type AnySchema } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { makeDocument } from './document.js';

interface Message {
  readonly payload: { readonly $ref: string };
  readonly headers?: AnySchema;
  readonly examples: readonly { readonly payload: unknown }[];
}

const specification = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json') as AnySchema;
const document = makeDocument('ws://127.0.0.1:8081') as {
  readonly servers: { readonly stream: object };
  readonly components: { readonly schemas: Record<string, AnySchema>; readonly messages: Record<string, Message> };
};

describe('the AsyncAPI document', () => {
  it('is valid AsyncAPI 3.0 (slow)', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    const isValid = ajv.validate(specification, document);
    expect([isValid, ajv.errors]).toEqual([true, null]);
  });

  it('is committed in its current form (npm run asyncapi regenerates it)', () => {
    const committed: unknown = JSON.parse(readFileSync(new URL('../../../../docs/api/asyncapi.json', import.meta.url), 'utf8'));
    expect(committed).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it('names the public address of the stream', () => {
    const { stream } = (makeDocument('wss://events.example.org') as typeof document).servers;
    expect(stream).toMatchObject({ host: 'events.example.org', protocol: 'wss' });
  });

  it.each(Object.entries(document.components.messages))('has examples that match its schemas: %s', (_, { payload, examples }) => {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    ajv.addSchema({ $id: 'document', ...document });
    expect(examples.length).toBeGreaterThan(0);
    for (const one of examples) {
      const isValid = ajv.validate({ $ref: `document${payload.$ref}` }, one.payload);
      expect([isValid, ajv.errors]).toEqual([true, null]);
    }
  });
});
