import { ImportedPlant } from '@plant-shop/contracts/catalog';
import type { BodySpec } from '@plant-shop/contracts/client-operation';
import { mediaTypeOf } from '../http/headers.js';
import { maxMetadataLength } from '../images/upload.js';
import type { Fields } from './parameters.js';
import type { Schemas } from './components.js';
import { linesOf } from './responses.js';

/** Describes the body of a route. JSON and form bodies are members of the payload. */
export function requestBodyOf(body: BodySpec, fields: Fields, schemas: Schemas): object {
  switch (body.kind) {
    case 'json': {
      const field = fields.properties[body.member];
      if (!field) throw new Error(`the payload has no member ${body.member}`);
      return only(mediaTypeOf(body), schemas.ofField(field), fields.examples[body.member]);
    }
    case 'form': {
      const named = body.fields.map((name) => [name, fields.properties[name]] as const);
      // Tools make a form field from each property, with the example of the property.
      const properties = Object.fromEntries(
        named.map(([name, field]) => [name, field && { ...schemas.ofField(field), examples: [fields.examples[name]] }]),
      );
      const example = Object.fromEntries(body.fields.map((name) => [name, fields.examples[name]]));
      return { ...only(mediaTypeOf(body), { type: 'object', properties }, example), required: false };
    }
    case 'lines':
      return {
        required: true,
        description: 'One `ImportedPlant` per line; each line ends with a newline.',
        content: linesOf([importedPlant], { contentMediaType: 'application/x-ndjson', contentSchema: schemas.ofClass(ImportedPlant) }),
      };
    case 'multipart':
      // The description names the other form: a second type would make the body's type `unknown` in generated clients.
      return only(mediaTypeOf(body), uploadSchema, undefined);
    case 'oauthForm':
      throw new Error('OAuth is described by its discovery documents');
  }
}

const importedPlant = { id: 7, name: 'Monstera', photoUrls: [], tags: [{ name: 'shade' }], status: 'available', quantity: 20 };

const uploadSchema = {
  type: 'object',
  properties: {
    additionalMetadata: {
      type: 'string',
      maxLength: maxMetadataLength,
      description: 'Returned in the message.',
      examples: ['from the greenhouse'],
    },
    file: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream', description: 'A file with a file name, at most 10 MiB.' },
  },
  required: ['file'],
};

const only = (type: string, schema: object, example: unknown): object => ({
  required: true,
  content: { [type]: { schema, ...(example !== undefined && { example }) } },
});
