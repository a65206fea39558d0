import { applyDecorators } from '@nestjs/common';
import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { openLimitedByUser } from './permissions.js';
import { type AnswerOf, boolean, described, integer, listOf, objectOf, text } from './answers.js';
import { type Plant, plantAnswer, type PlantStatus, plantStatuses } from './catalog.plants.js';
import { forClientsUnder } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { ListOf, Metadata, type MetadataPairs, OneOf, PageCursor, PageLimit, PageRequest, SomeOf, Text, Texts } from './fields.js';
import { Description, Schema } from './schema.js';

// Lists of plants, their counts, and what keeps cached answers valid.

export class FindPlantsByStatus extends PageRequest {
  @IsOptional()
  @ListOf(3, 1)
  @SomeOf(plantStatuses, `must be one or more of ${plantStatuses.join(', ')}`)
  @Schema({ default: ['available'] })
  status?: PlantStatus[];
}

export class FindPlantsByTags extends PageRequest {
  @ListOf(64, 1)
  @Texts(64)
  tags: string[];
}

export const plantSorts = ['relevance', 'name', 'newest'] as const;
export type PlantSort = (typeof plantSorts)[number];

const Query = (): PropertyDecorator =>
  applyDecorators(
    Text(),
    Description(
      'Words of the name, tags or category, all of which must match; only the first 8 count. A word also matches longer words that begin ' +
        'with it, and parts of Chinese, Japanese and Thai names. A word of Latin letters that no plant has matches similar ones. Case, ' +
        'accents and the sign × of hybrids are ignored.',
    ),
  );

/** A plant must meet all conditions. */
export class GetPlantFacets {
  @IsOptional()
  @Query()
  q?: string;

  @IsOptional()
  @ListOf(3, 1)
  @SomeOf(plantStatuses, `must be one or more of ${plantStatuses.join(', ')}`)
  status?: PlantStatus[];

  @IsOptional()
  @ListOf(64, 1)
  @Texts(64)
  @Description('The plant has at least one of these tags. A comma within a tag is sent as `%2C`.')
  tags?: string[];

  @IsOptional()
  @Text()
  @Description("The category's exact name.")
  category?: string;

  @IsOptional()
  @Text()
  externalId?: string;

  @IsOptional()
  @Metadata()
  @Description('The plant has all these pairs.')
  metadata?: MetadataPairs;
}

/** The conditions of `GetPlantFacets`, with sorting and pagination. */
export class SearchPlants extends GetPlantFacets implements PageRequest {
  @IsOptional()
  @OneOf(plantSorts)
  @Description('Default: `relevance` with `q`, otherwise `newest`. Sorting by name ignores the case of ASCII letters.')
  sort?: PlantSort;

  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}

/** Maximum number of values in one facet: the most frequent ones. */
export const maxFacetValues = 100;

// Answers

const facet = listOf(objectOf('FacetCount')({ value: text(200), plants: integer(1) }), maxFacetValues);

const facetsAnswer = objectOf('PlantFacets')({
  plants: described(integer(0), 'Number of plants counted.'),
  complete: described(boolean, '`false`: more plants match, and only the newest were counted.'),
  status: facet,
  tags: facet,
  category: facet,
});

export type PlantFacets = AnswerOf<typeof facetsAnswer>;

const { read } = operationsOf<ErrorCode>('catalog');
const forClients = forClientsUnder('Plants');

export const searchOperations = {
  /** Answers a page. */
  findPlantsByStatus: forClients(
    read<Plant[]>()('findPlantsByStatus', FindPlantsByStatus, { errors: ['invalid-cursor'] }),
    {
      route: 'GET /v3/plant/findByStatus',
      access: openLimitedByUser,
      summary: 'Find plants by status',
      description: 'Newest first. Several statuses may be separated by commas, given as repeated parameters, or both.',
      query: ['status', 'limit', 'cursor'],
      shared: 'cached',
      answer: listOf(plantAnswer, 1_000),
    },
  ),
  /** Answers a page of the plants that have at least one of the tags, each once. */
  findPlantsByTags: forClients(
    read<Plant[]>()('findPlantsByTags', FindPlantsByTags, { errors: ['invalid-cursor'] }),
    {
      route: 'GET /v3/plant/findByTags',
      access: openLimitedByUser,
      summary: 'Find plants by tag',
      description:
        'Plants with any of the tag names, each once, newest first. Several names may be separated by commas, given as repeated ' +
        'parameters, or both. A comma within a name is sent as `%2C`.',
      query: ['tags', 'limit', 'cursor'],
      required: { tags: 'must be one or more names of tags' },
      shared: 'cached',
      answer: listOf(plantAnswer, 1_000),
    },
  ),
  /** Answers a page of the plants that meet all conditions. It may be short or empty although there is a next one. */
  searchPlants: forClients(
    read<Plant[]>()('searchPlants', SearchPlants, { errors: ['invalid-cursor'] }),
    {
      route: 'GET /v3/plant/search',
      access: openLimitedByUser,
      weight: 8,
      summary: 'Search plants',
      description:
        'Finds plants that meet all conditions. Sorted by relevance, exact words rank before similar ones and names before other texts. ' +
        'If many plants match, the newest are ranked first (128, or twice the limit, at most a thousand), then the next ones. ' +
        'A page may be short or empty ' +
        'although the header `Link` leads to another one, since the work per page is bounded. Misspelled words are found if the ' +
        "shop's Postgres has the extension pg_trgm.",
      query: ['q', 'status', 'tags', 'category', 'externalId', 'metadata', 'sort', 'limit', 'cursor'],
      shared: 'cached',
      answer: listOf(plantAnswer, 1_000),
    },
  ),
  getPlantFacets: forClients(
    read<PlantFacets>()('getPlantFacets', GetPlantFacets),
    {
      route: 'GET /v3/plant/facets',
      access: openLimitedByUser,
      weight: 16,
      summary: 'Count plants by status, tag and category',
      description:
        'Counts the plants that a search with the same conditions finds, per status, tag and category (at most 100 of each). At most a ' +
        'thousand plants are counted; if more may match, only some of the newest are counted and `complete` is `false`.',
      query: ['q', 'status', 'tags', 'category', 'externalId', 'metadata'],
      compressed: true,
      shared: 'cached',
      answer: facetsAnswer,
    },
  ),
  /**
   * For caches: answers all current stamps of the catalogue. Answers of `getPlant` and of the lists carry a stamp and are
   * valid while it is current. Every change of a plant replaces some stamps, in the same transaction. A stamp never returns,
   * except together with the plants that it stood for (a restored backup).
   */
  readStamps: read<readonly string[]>()('readStamps', NoPayload),
};
