import { type AnswersOf, id, listOf, meaning, objectOf, oneOf, optional, text } from './answers.js';
import { type catalog, maxPhotoUrls, type Plant, type PlantStatus, plantStatuses } from './catalog.js';

const plantStatus = oneOf<PlantStatus>(plantStatuses);

const category = objectOf<NonNullable<Plant['category']>>('PlantCategory')({ id: optional(id), name: optional(text(200)) });
const tag = objectOf<Plant['tags'][number]>('PlantTag')({ id, name: text(200) });

const plant = objectOf<Plant>('Plant')({
  id,
  name: text(200),
  category: optional(category),
  photoUrls: listOf(text(2_048), maxPhotoUrls),
  tags: listOf(tag, 64),
  status: meaning(plantStatus, 'What staff list it as. The shop never changes it by itself.'),
});

export const catalogAnswers = {
  createPlant: plant,
  replacePlant: plant,
  changePlant: plant,
  getPlant: plant,
  findPlantsByStatus: listOf(plant, 1_000),
  findPlantsByTags: listOf(plant, 1_000),
} satisfies AnswersOf<typeof catalog>;
