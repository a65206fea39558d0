import { catalog } from '@plant-shop/contracts/catalog';
import { catalogAnswers } from '@plant-shop/contracts/catalog.answers';
import { apiResponse, type OperationDocs, passed } from './operation-docs.js';

export const plantsDocs = {
  createPlant: {
    tag: 'Plants',
    summary: 'Add a plant',
    description:
      'An id that is taken is refused; the id of a deleted plant is free again. With an Idempotency-Key, a repetition adds no second plant.',
    calls: [catalog.createPlant],
    answer: passed(catalogAnswers.createPlant),
  },
  replacePlant: {
    tag: 'Plants',
    summary: 'Replace all attributes of a plant',
    description: 'Optional attributes that are left out are cleared, but for the status, which is kept.',
    calls: [catalog.replacePlant],
    answer: passed(catalogAnswers.replacePlant),
  },
  changePlant: {
    tag: 'Plants',
    summary: 'Change name or status of a plant with a form',
    description: 'At least one of both must be given.',
    calls: [catalog.changePlant],
    answer: passed(catalogAnswers.changePlant),
  },
  getPlant: {
    tag: 'Plants',
    summary: 'Read a plant',
    calls: [catalog.getPlant],
    answer: passed(catalogAnswers.getPlant),
  },
  findPlantsByStatus: {
    tag: 'Plants',
    summary: 'Find plants by status',
    description: 'Newest first. Several values as a comma list, as repeated parameters, or both.',
    calls: [catalog.findPlantsByStatus],
    query: ['status', 'limit', 'cursor'],
    answer: passed(catalogAnswers.findPlantsByStatus),
  },
  findPlantsByTags: {
    tag: 'Plants',
    summary: 'Find plants by tag',
    description: 'Plants with any of the names, each once, newest first. Several names as a comma list, repeated, or both.',
    calls: [catalog.findPlantsByTags],
    query: ['tags', 'limit', 'cursor'],
    answer: passed(catalogAnswers.findPlantsByTags),
  },
  deletePlant: {
    tag: 'Plants',
    summary: 'Delete a plant',
    description: 'Refused while orders of it are placed or approved; the problem names them. The message is its id.',
    calls: [catalog.deletePlant],
    answer: apiResponse('1000000001'),
  },
  uploadImage: {
    tag: 'Plants',
    summary: 'Upload an image of a plant',
    description:
      'Pictures (JPEG, PNG, GIF, WebP, AVIF, known by their content) are appended to `photoUrls`; other files are kept and ' +
      'served as attachments. At most 10 MiB, in chunks that are never held whole. The message has the metadata and the address.',
    calls: [catalog.beginImage, catalog.writeImageChunk, catalog.finishImage],
    answer: apiResponse(
      'additionalMetadata: from the greenhouse; url: https://shop.example/v3/images/0190b6a2-6c1e-7d3a-9f5b-2c4e6a8b0d1f',
    ),
  },
  getImage: {
    tag: 'Plants',
    summary: 'Read an image',
    description: 'An image never changes under its address.',
    calls: [catalog.getImage, catalog.readImageChunk],
    answer: { kind: 'image' },
  },
} satisfies Record<string, OperationDocs>;
