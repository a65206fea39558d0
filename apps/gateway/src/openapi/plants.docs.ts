import { catalog } from '@plant-shop/contracts/catalog';
import { catalogAnswers } from '@plant-shop/contracts/catalog.answers';
import { apiResponse, type OperationDocs, forwarded } from './operation-docs.js';

export const plantsDocs = {
  createPlant: {
    tag: 'Plants',
    summary: 'Add a plant',
    description:
      'An id that is taken is refused; the id of a deleted plant is free again. With an Idempotency-Key, a repetition adds no second plant.',
    calls: [catalog.createPlant],
    answer: forwarded(catalogAnswers.createPlant),
  },
  replacePlant: {
    tag: 'Plants',
    summary: 'Replace all attributes of a plant',
    description: 'Optional attributes that are left out are cleared, but for the status, which is kept.',
    calls: [catalog.replacePlant],
    answer: forwarded(catalogAnswers.replacePlant),
  },
  changePlant: {
    tag: 'Plants',
    summary: 'Change name or status of a plant with a form',
    description: 'At least one of both must be given.',
    calls: [catalog.changePlant],
    answer: forwarded(catalogAnswers.changePlant),
  },
  getPlant: {
    tag: 'Plants',
    summary: 'Read a plant',
    calls: [catalog.getPlant],
    answer: forwarded(catalogAnswers.getPlant),
  },
  findPlantsByStatus: {
    tag: 'Plants',
    summary: 'Find plants by status',
    description: 'Newest first. Several values as a comma list, as repeated parameters, or both.',
    calls: [catalog.findPlantsByStatus],
    query: ['status', 'limit', 'cursor'],
    answer: forwarded(catalogAnswers.findPlantsByStatus),
  },
  findPlantsByTags: {
    tag: 'Plants',
    summary: 'Find plants by tag',
    description: 'Plants with any of the names, each once, newest first. Several names as a comma list, repeated, or both.',
    calls: [catalog.findPlantsByTags],
    query: ['tags', 'limit', 'cursor'],
    answer: forwarded(catalogAnswers.findPlantsByTags),
  },
  searchPlants: {
    tag: 'Plants',
    summary: 'Search plants',
    description:
      'Plants that meet all conditions. By relevance, those come first that have the words themselves and in their name; where more ' +
      'than a thousand plants match, the newest thousand come first, then the next. A page may be short or empty while the header ' +
      '`Link` leads to a next one, since each takes a bounded amount of work. Words that are spelled wrongly are found where the ' +
      "shop's Postgres has the extension pg_trgm.",
    calls: [catalog.searchPlants],
    query: ['q', 'status', 'tags', 'category', 'sort', 'limit', 'cursor'],
    answer: forwarded(catalogAnswers.searchPlants),
  },
  getPlantFacets: {
    tag: 'Plants',
    summary: 'Count plants by status, tag and category',
    description:
      'Of the plants that a search with the same conditions finds, how many have each status, tag and category, at most 100 of each. ' +
      'Where more match than are counted (up to a thousand), the newest are counted and `complete` is `false`.',
    calls: [catalog.getPlantFacets],
    query: ['q', 'status', 'tags', 'category'],
    answer: forwarded(catalogAnswers.getPlantFacets),
  },
  importPlants: {
    tag: 'Plants',
    summary: 'Import plants',
    description:
      'Creates and replaces plants by their ids, one `ImportedPlant` a line, in a stream of any length. The answer is a stream too: a ' +
      'line for each line (`created`, `updated`, `unchanged`, or `refused` with a problem), then one with totals. `complete` is `false` ' +
      'in it where the import ended early, and `lines` is the number of the last line that was taken; send the rest, or all of it, ' +
      'again. Read the answer while you send. A line may have 512 KiB. A request lasts as long as any request may (120 s by default).',
    calls: [catalog.importPlants],
    answer: {
      kind: 'lines',
      description: 'One line for each line, and one with totals',
      example: [
        { line: 1, id: 7, result: 'created' },
        { lines: 1, created: 1, updated: 0, unchanged: 0, refused: 0, complete: true },
      ],
    },
  },
  exportPlants: {
    tag: 'Plants',
    summary: 'Export all plants',
    description:
      'All plants as they were at one moment, in the order of their creation, one a line. What is exported can be imported, here or into ' +
      'another shop. Stock and the content of images are not part of it. A body that is cut off is not the whole catalogue.',
    calls: [catalog.beginExport, catalog.readExport, catalog.endExport],
    answer: {
      kind: 'lines',
      description: 'One plant a line',
      example: [{ id: 7, name: 'Monstera', photoUrls: [], tags: [{ id: 1, name: 'shade' }], status: 'available' }],
    },
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
