import { type AnswersOf, boolean, described, id, integer, listOf, objectOf, oneOf, optional, text } from './answers.js';
import {
  type catalog,
  type FacetCount,
  maxFacetValues,
  maxPhotoUrls,
  type Plant,
  type PlantFacets,
  type PlantStatus,
  plantStatuses,
} from './catalog.js';

const plantStatus = oneOf<PlantStatus>(plantStatuses);

const category = objectOf<NonNullable<Plant['category']>>('PlantCategory')({ id: optional(id), name: optional(text(200)) });
const tag = objectOf<Plant['tags'][number]>('PlantTag')({ id, name: text(200) });

const plant = objectOf<Plant>('Plant')({
  id,
  name: text(200),
  category: optional(category),
  photoUrls: listOf(text(2_048), maxPhotoUrls),
  tags: listOf(tag, 64),
  status: described(plantStatus, 'Set by staff. The shop never changes it on its own.'),
});

const facet = listOf(objectOf<FacetCount>('FacetCount')({ value: text(200), plants: integer(1) }), maxFacetValues);

const facets = objectOf<PlantFacets>('PlantFacets')({
  plants: described(integer(0), 'Number of plants counted.'),
  complete: described(boolean, '`false`: more plants match, and only the newest were counted.'),
  status: facet,
  tags: facet,
  category: facet,
});

export const catalogAnswers = {
  createPlant: plant,
  replacePlant: plant,
  changePlant: plant,
  getPlant: plant,
  findPlantsByStatus: listOf(plant, 1_000),
  findPlantsByTags: listOf(plant, 1_000),
  searchPlants: listOf(plant, 1_000),
  getPlantFacets: facets,
} satisfies AnswersOf<typeof catalog>;
