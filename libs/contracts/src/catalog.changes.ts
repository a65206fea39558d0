import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { openLimitedByUser } from './permissions.js';
import { type AnswerOf, always, described, eitherOf, id, listOf, objectOf, text } from './answers.js';
import { plantAnswer } from './catalog.plants.js';
import { forClientsUnder } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Integer, PageLimit, Text } from './fields.js';
import { Description } from './schema.js';

// The changes of the catalogue, for copies of it.

export const longestWaitSeconds = 30;

export class ListPlantChanges {
  @IsOptional()
  @Text({ max: 500 })
  @Description('`cursor` of the last answer. Absent: from the beginning, which includes every plant.')
  cursor?: string;

  /** The gateway waits, not the catalog. */
  @IsOptional()
  @Integer(0, longestWaitSeconds)
  @Description('Seconds to wait for a change if there is none. Default: 0.')
  wait?: number;

  @PageLimit()
  limit?: number;
}

const deletedPlant = objectOf('DeletedPlant')({ id, deleted: always(true) });

const changesAnswer = objectOf('PlantChanges')({
  changes: listOf(eitherOf(plantAnswer, deletedPlant), 1_000),
  cursor: described(text(500), 'Opaque position after these changes. Send it in the next request.'),
});

export type PlantChanges = AnswerOf<typeof changesAnswer>;

const { read } = operationsOf<ErrorCode>('catalog');
const forClients = forClientsUnder('Plants');

export const changeOperations = {
  /** `cursor-too-old`: changes after the cursor may be gone, or the cursor is of another history. */
  listPlantChanges: forClients(
    read<PlantChanges>()('listPlantChanges', ListPlantChanges, { errors: ['invalid-cursor', 'cursor-too-old'] }),
    {
      route: 'GET /v3/plant/changes',
      access: openLimitedByUser,
      summary: 'Follow the changes of plants',
      description:
        'The changes after a cursor in the order of their commits: each changed plant once, as it is now, or as `deleted`. Store the cursor with the ' +
        'plants, and ask again with it; an empty list means that there are no further changes yet. Deletions are kept for 30 days. A cursor that is ' +
        'older, or from before the database was restored, gets 410 `cursor-too-old`: begin without a cursor, and drop the plants that you do not get.',
      query: ['cursor', 'wait', 'limit'],
      compressed: true,
      answer: changesAnswer,
    },
  ),
};
