import { applyDecorators } from '@nestjs/common';
import { Converted } from '@plant-shop/platform/rpc/validation';
import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional, ValidateBy } from 'class-validator';
import { openLimitedByUser, permission } from './permissions.js';
import { type AnswerOf, described, id, instant, listOf, metadata, objectOf, oneOf, optional, text } from './answers.js';
import { forClientsUnder, form, jsonObject, mergePatch, message } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Clearable, ExpectedVersion, ExternalId, Id, IdToAssign, Integer, Kept, Metadata, type MetadataChanges, type MetadataPairs, Name, ObjectOf, ObjectsOf, OneOf, Texts } from './fields.js';
import { Description, Schema } from './schema.js';

// Single plants.

export const plantStatuses = ['available', 'pending', 'sold'] as const;
export type PlantStatus = (typeof plantStatuses)[number];

/** Maximum number of photos of one plant, uploaded ones included. */
export const maxPhotoUrls = 64;

// Sent by clients

export class Category {
  @IdToAssign()
  id?: number;

  @IsOptional()
  @Name()
  name?: string;
}

export class Tag {
  @IdToAssign()
  id?: number;

  @Name()
  name: string;
}

/** Treats a category without id (or with 0) and without name (or with an empty one) as absent: generated clients send it. */
const EmptyIsAbsent = (): PropertyDecorator =>
  Converted((value) => {
    if (typeof value !== 'object' || Array.isArray(value)) return value;
    const { id, name } = value as { readonly id?: unknown; readonly name?: unknown };
    return (id ?? 0) === 0 && (name ?? '') === '' ? undefined : value;
  });

const PhotoUrls = (): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'photoUrls',
      validator: {
        validate: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' && address.test(one)),
        defaultMessage: () => 'must contain addresses without spaces or control characters',
      },
    }),
    Schema({ items: { pattern: address.source } }),
  );
// eslint-disable-next-line no-control-regex -- the expression excludes control characters
const address = /^[^\s\u0000-\u001f\u007f]+$/u;

/** All attributes of a plant except its id. */
class PlantAttributes {
  @Name()
  name: string;

  @IsOptional()
  @EmptyIsAbsent()
  @ObjectOf(() => Category, { message: 'must be an object with id and name' })
  category?: Category;

  @IsOptional()
  @Texts(maxPhotoUrls, 2_048)
  @PhotoUrls()
  photoUrls?: string[];

  @IsOptional()
  @ObjectsOf(() => Tag, { size: 64, message: 'must be an object with id and name' })
  tags?: Tag[];

  @IsOptional()
  @OneOf(plantStatuses)
  @Description('Absent: a new plant is `available`; an existing one keeps its status.')
  status?: PlantStatus;

  @Clearable()
  @ExternalId()
  externalId?: string | null;

  @Clearable()
  @Metadata()
  metadata?: MetadataPairs | null;
}

export class NewPlant extends PlantAttributes {
  @IdToAssign()
  id?: number;

  /** Absent: the store's `INITIAL_STOCK`. */
  @IsOptional()
  @Description('Initial number of free units. Default: a setting of the shop.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

/** Replaces all attributes. Absent optional ones are cleared; an absent status, external id or metadata stays the same. */
export class PlantReplacement extends PlantAttributes {
  @Id()
  id: number;
}

export class CategoryPatch {
  @Clearable()
  @Integer(0, Number.MAX_SAFE_INTEGER)
  @Description('`null` or 0: the shop assigns one.')
  id?: number | null;

  @Clearable()
  @Name()
  name?: string | null;
}

/** A merge patch (RFC 7396): absent members stay, `null` removes. */
export class PlantPatch {
  @Kept()
  @Name()
  name?: string;

  @Clearable()
  @ObjectOf(() => CategoryPatch, { message: 'must be an object with id and name' })
  category?: CategoryPatch | null;

  @Clearable()
  @Texts(maxPhotoUrls, 2_048)
  @PhotoUrls()
  photoUrls?: string[] | null;

  @Clearable()
  @ObjectsOf(() => Tag, { size: 64, message: 'must be an object with id and name' })
  tags?: Tag[] | null;

  @Kept()
  @OneOf(plantStatuses)
  status?: PlantStatus;

  @Clearable()
  @ExternalId()
  externalId?: string | null;

  @Clearable()
  @Metadata({ clearable: true })
  metadata?: MetadataChanges | null;
}

/** One line of an import: the members of PUT, and free units. */
export class ImportedPlant extends PlantAttributes {
  @Id()
  id: number;

  @IsOptional()
  @Description('Free units. Default: a setting of the shop for a new plant; an existing one keeps its stock. Setting that of an existing plant needs `write:stock`.')
  @Integer(0, 1_000_000_000)
  quantity?: number;
}

// Requests

export class CreatePlant {
  @ObjectOf(() => NewPlant)
  plant: NewPlant;
}

export class ReplacePlant {
  @ObjectOf(() => PlantReplacement)
  plant: PlantReplacement;

  @ExpectedVersion()
  ifVersion?: number;
}

export class PatchPlant {
  @Id()
  plantId: number;

  @ObjectOf(() => PlantPatch)
  plant: PlantPatch;

  @ExpectedVersion()
  ifVersion?: number;
}

/** The form or the query of `POST /plant/{plantId}`. Without name and status: `invalid-input`. */
export class ChangePlant {
  @Id()
  plantId: number;

  @IsOptional()
  @Name()
  name?: string;

  @IsOptional()
  @OneOf(plantStatuses)
  status?: PlantStatus;

  @ExpectedVersion()
  ifVersion?: number;
}

export class GetPlant {
  @Id()
  plantId: number;
}

export class DeletePlant {
  @Id()
  plantId: number;

  @ExpectedVersion()
  ifVersion?: number;
}

const plantStatus = oneOf<PlantStatus>(plantStatuses);

const category = objectOf('PlantCategory')({ id: optional(id), name: optional(text(200)) });
const tag = objectOf('PlantTag')({ id, name: text(200) });

export const plantAnswer = objectOf('Plant')({
  id,
  name: text(200),
  category: optional(category),
  photoUrls: listOf(text(2_048), maxPhotoUrls),
  tags: listOf(tag, 64),
  status: described(plantStatus, 'Set by staff. The shop never changes it on its own.'),
  externalId: optional(text(200)),
  metadata: optional(metadata),
  updatedAt: instant,
});

// Answers
export type Plant = AnswerOf<typeof plantAnswer>;

const { read, write } = operationsOf<ErrorCode>('catalog');
const forClients = forClientsUnder('Plants');

export const plantOperations = {
  /** Answers once the store has opened stock for the plant, also when repeated with its Idempotency-Key. */
  createPlant: forClients(
    write<Plant>()('createPlant', CreatePlant, {
      errors: ['plant-exists', 'external-id-exists', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/plant',
      access: permission('write:plants'),
      summary: 'Add a plant',
      description:
        'Refused if the id belongs to another plant; ids of deleted plants may be reused. Send an Idempotency-Key to repeat the request ' +
        'safely.',
      body: jsonObject('plant'),
      answer: plantAnswer,
    },
  ),
  replacePlant: forClients(
    write<Plant>()('replacePlant', ReplacePlant, {
      errors: ['plant-not-found', 'external-id-exists', 'precondition-failed'],
      versioned: true,
    }),
    {
      route: 'PUT /v3/plant',
      access: permission('write:plants'),
      summary: 'Replace all attributes of a plant',
      description: 'Clears optional attributes that are absent. Status, external id and metadata stay unchanged; `null` ends the last two. Everyone can read them.',
      body: jsonObject('plant'),
      answer: plantAnswer,
    },
  ),
  patchPlant: forClients(
    write<Plant>()('patchPlant', PatchPlant, {
      errors: ['plant-not-found', 'external-id-exists', 'precondition-failed'],
      versioned: true,
    }),
    {
      route: 'PATCH /v3/plant/:plantId',
      access: permission('write:plants'),
      summary: 'Change some attributes of a plant',
      description:
        'A merge patch (RFC 7396): absent members stay, and `null` removes one. The members of `category` and `metadata` are merged, too; lists are replaced. ' +
        'PUT replaces all attributes instead.',
      body: mergePatch('plant'),
      answer: plantAnswer,
    },
  ),
  changePlant: forClients(
    write<Plant>()('changePlant', ChangePlant, {
      errors: ['plant-not-found', 'precondition-failed', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/plant/:plantId',
      access: permission('write:plants'),
      summary: 'Change name or status of a plant with a form',
      description: 'Requires at least one of them, in the form or in the query.',
      body: form('name', 'status'),
      query: ['name', 'status'],
      answer: plantAnswer,
    },
  ),
  getPlant: forClients(
    read<Plant>()('getPlant', GetPlant, { errors: ['plant-not-found'], versioned: true }),
    {
      route: 'GET /v3/plant/:plantId',
      access: openLimitedByUser,
      summary: 'Read a plant',
      shared: 'cached',
      answer: plantAnswer,
    },
  ),
  /** Details of `plant-has-pending-orders`: `orders` (the first 100 ids). */
  deletePlant: forClients(
    write<{ plantId: number }>()('deletePlant', DeletePlant, {
      errors: ['plant-not-found', 'plant-has-pending-orders', 'precondition-failed'],
    }),
    {
      route: 'DELETE /v3/plant/:plantId',
      access: permission('write:plants'),
      summary: 'Delete a plant',
      description: 'Refused while the plant has placed or approved orders; the problem lists the first 100. The message is the id of the plant.',
      answer: message('plantId', '1000000001'),
    },
  ),
};
